/** Writes the dataset without the flagged episodes as a new dataset, into a chosen folder or as a zip. */
import {
  type RldsDataset,
  type RldsReader,
  type Sink,
  type StepSpec,
  type WriteOptions,
  type WriteReport,
  writeJsonl,
  writeLeRobot,
  writeParquet,
  writeTfds,
} from "reprise/rlds";
import { encodeFilm } from "../../parts/film.ts";
import { fileName } from "../../parts/save-folder.ts";
import type { ExportArgument, ExportNews, ExportResult } from "../messages.ts";
import { isFilm } from "../model/leaf-kinds.ts";
import type { Session } from "./session.ts";
import { stoppable } from "./stoppable.ts";
import { videoReferences, withFrames } from "./video-frames.ts";
import { zipped } from "./zipped.ts";

export async function exported(session: Session, argument: ExportArgument, signal: AbortSignal, tell: (news: ExportNews) => void): Promise<ExportResult> {
  const data = kept(session.reader, new Set(argument.without), signal);
  let told = 0;
  const onProgress = (news: ExportNews) => {
    if (performance.now() - told < 100) return;
    told = performance.now();
    tell(news);
  };
  // The metadata of a journal or a snapshot describes tables, which a dataset does not have.
  const { format, about } = session.reader;
  const isDataset = format !== "journal" && format !== "snapshot" && Object.keys(about).length > 0;
  const options = { signal, onProgress, ...(isDataset && { about }) };
  const write = async (to: Sink): Promise<WriteReport> => {
    if (argument.format === "tfds") return writeTfds(data, to, { ...options, name: tfdsName(argument.name) });
    if (argument.format === "parquet") return writeParquet(data, to, options);
    if (argument.format === "jsonl") return writeJsonl(data, to, options);
    return asLeRobot(session, data, to, argument, options);
  };
  if (argument.folder !== undefined) return resultOf(await write(argument.folder));
  const { report, zip, onDisk } = await zipped(fileName(argument.name), write, signal, (bytes, report) => tell({ ...report, zipped: bytes }));
  return { ...resultOf(report), zip, onDisk };
}

/** Converts images to films if requested; videos are re-encoded from the remaining frames. */
async function asLeRobot(
  { opened, given }: Session,
  data: RldsDataset<unknown>,
  to: Sink,
  { fps, films }: ExportArgument,
  options: WriteOptions & { readonly signal: AbortSignal },
): Promise<WriteReport> {
  const references = videoReferences(data.stepSpec as StepSpec);
  const { videos, data: filmed } = references.length === 0 ? { videos: [], data } : await withFrames(data, references, given, options.signal);
  const wanted = films ? opened.leaves.filter(isFilm).map(({ path }) => path) : [];
  const all = [...videos, ...wanted];
  return writeLeRobot(filmed, to, { ...options, fps, ...(all.length > 0 && { videos: all, videoEncoder: encodeFilm }) });
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

/** TFDS names consist of lowercase letters, digits and underscores. */
function tfdsName(name: string): string {
  const plain = name
    .toLowerCase()
    .replace(/[^a-z0-9_]+/g, "_")
    .replace(/^[^a-z]+/, "");
  return plain === "" ? "dataset" : plain;
}
