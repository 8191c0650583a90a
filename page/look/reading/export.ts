/** The dataset without the flagged episodes, written as another one: into a folder that the person chose, or as a zip. */
import { type RldsDataset, type RldsReader, type Sink, type WriteOptions, type WriteReport, writeJsonl, writeParquet, writeTfds } from "reprise/rlds";
import type { ExportArgument, ExportFormat, ExportNews, ExportResult } from "../messages.ts";
import { stoppable } from "./stoppable.ts";
import { zipped } from "./zipped.ts";

type Write = (data: RldsDataset<unknown>, to: Sink, name: string, options: WriteOptions) => Promise<WriteReport>;

const WRITE: { readonly [format in ExportFormat]: Write } = {
  tfds: (data, to, name, options) => writeTfds(data, to, { ...options, name: tfdsName(name) }),
  parquet: (data, to, _, options) => writeParquet(data, to, options),
  jsonl: (data, to, _, options) => writeJsonl(data, to, options),
};

export async function exported(
  reader: RldsReader<unknown>,
  { format, name, without, folder }: ExportArgument,
  signal: AbortSignal,
  tell: (news: ExportNews) => void,
): Promise<ExportResult> {
  const data = kept(reader, new Set(without), signal);
  let told = 0;
  const onProgress = (news: ExportNews) => {
    if (performance.now() - told < 100) return;
    told = performance.now();
    tell(news);
  };
  const write = (to: Sink) => WRITE[format](data, to, name, { signal, onProgress });
  if (folder !== undefined) return resultOf(await write(folder));
  const { report, zip } = await zipped(write, signal, (bytes, report) => tell({ ...report, zipped: bytes }));
  return { ...resultOf(report), zip };
}

const resultOf = ({ episodes, steps, bytes, files }: WriteReport): ExportResult => ({ episodes, steps, bytes, files });

function kept(reader: RldsReader<unknown>, without: ReadonlySet<number>, signal: AbortSignal): RldsDataset<unknown> {
  return {
    stepSpec: reader.stepSpec,
    metadataSpec: reader.metadataSpec,
    async *[Symbol.asyncIterator]() {
      let index = 0;
      for await (const episode of stoppable(reader, signal)) if (!without.has(index++)) yield episode;
    },
  };
}

/** Names of TFDS are small letters, digits and underscores. */
function tfdsName(name: string): string {
  const plain = name
    .toLowerCase()
    .replace(/[^a-z0-9_]+/g, "_")
    .replace(/^[^a-z]+/, "");
  return plain === "" ? "dataset" : plain;
}
