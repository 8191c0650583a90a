/** Implements the common part of all writers that produce one file. */
import { flag, onlyKeys } from "../../../base/error.ts";
import { Collector } from "../../model/collector.ts";
import type { RldsDataset, StepSpec } from "../../model/dataset.ts";
import { RldsError } from "../../model/rlds-error.ts";
import type { ColumnData } from "../../model/step-columns.ts";
import { type About, mustBeAbout } from "../about.ts";
import { Losses } from "./losses.ts";
import { type Sink, sinkOf } from "./sink.ts";
import { type StagedFile, Staging } from "./staging.ts";
import { type ConformingDataset, type WriteOptions, type WriteReport, withSchema } from "./writer.ts";

export interface SingleFile {
  /** The endings of paths that name the file. Any other path is a folder. */
  readonly endings: readonly string[];
  /** The name of the file in a folder. */
  readonly name: string;
  /** The options of the format, in addition to the options of all writers. */
  readonly options?: string;
}

/** The file and settings of a writer. */
export interface FileTask {
  readonly data: ConformingDataset;
  readonly file: StagedFile;
  readonly losses: Losses;
  readonly about: About | undefined;
  readonly signal: AbortSignal | undefined;
  /** @throws RldsError UNSUPPORTED if `strict` is set and there are losses */
  checkLosses(): void;
}

export type FileCounts = Pick<WriteReport, "episodes" | "steps" | "repeated">;

/**
 * Calls `write` with a file that receives its final name when it is complete.
 * @throws TypeError if an option is invalid · RldsError IO if the file exists · the errors of `write`
 */
export async function writeSingleFile<O extends WriteOptions>(
  rlds: RldsDataset<unknown>,
  to: Sink,
  { endings, name: defaultName, options: more }: SingleFile,
  options: O,
  write: (task: FileTask, options: O) => Promise<FileCounts>,
): Promise<WriteReport> {
  const known = onlyKeys("options", options, `${more === undefined ? "" : `${more}, `}overwrite, about, strict, signal, onProgress`);
  const { overwrite = false, strict = false, about, signal } = known;
  flag("overwrite", overwrite);
  flag("strict", strict);
  const checkedAbout = about === undefined ? undefined : mustBeAbout(about);
  const { folder, file } = await sinkOf(to, endings);
  const name = file ?? defaultName;
  return Staging.run(folder, "", name, async (staging) => {
    const paths = await staging.list();
    if (file === undefined) checkAlone(paths, folder.name, { endings, name });
    const existing = paths.filter((path) => path === name);
    if (existing.length > 0 && !overwrite)
      throw new RldsError("IO", "the file already exists. Pass overwrite: true to replace it", { file: `${folder.name}/${name}` });
    const data = await withSchema(rlds, signal);
    try {
      const losses = new Losses();
      const file = await staging.create();
      const counts = await write({ data, file, losses, about: checkedAbout, signal, checkLosses: () => losses.check(strict) }, known);
      losses.check(strict);
      signal?.throwIfAborted();
      const files = await staging.commit([name], existing);
      return { ...counts, bytes: file.bytes, files, losses: losses.all };
    } finally {
      await data.close();
    }
  });
}

/** Checks that a folder has no other file of the format, because a reader would not open both files as one dataset. @throws RldsError IO if there is one */
export function checkAlone(paths: readonly string[], folder: string, { endings, name }: SingleFile): void {
  const other = paths.find((path) => path !== name && endings.some((ending) => path.toLowerCase().endsWith(ending)));
  if (other === undefined) return;
  const problem = `the folder contains another file of this format, so a reader would not open the folder as one dataset. Use another folder, or a path that ends with ${endings[0]}`;
  throw new RldsError("IO", problem, { file: `${folder}/${other}` });
}

/** Returns an episode's metadata as columns of one row. @throws RldsError SPEC_MISMATCH if the metadata does not match the spec */
export function metadataRow(spec: { readonly [name: string]: StepSpec }, metadata: object, episode: number): readonly ColumnData[] {
  const collector = new Collector(spec as StepSpec, 1);
  collector.add(metadata, { episode }, "the episode's metadata");
  return collector.take().data;
}
