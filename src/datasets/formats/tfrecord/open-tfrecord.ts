/** Opens files of TF-Agents' TFRecordObserver as datasets. A file contains one trajectory per record, and has a separate spec file. */
import { flag, integer, mustBe, onlyKeys, ReplayError } from "../../../base/error.ts";
import { MAX_SOURCE_BYTES } from "../../../base/file-limits.ts";
import type { Fetch } from "../../../base/host.ts";
import type { Spec } from "../../../schema/spec.ts";
import type { RldsStep, StepSpec } from "../../model/dataset.ts";
import { finalStepSpec } from "../../model/final-step.ts";
import { RldsError, unsupportedFile } from "../../model/rlds-error.ts";
import { decompressedSource } from "../compression/decompressed-source.ts";
import { damageOf, withDamage } from "../damage.ts";
import { READ_OPTIONS, type ReadEpisode, type ReadOptions, type RldsReader } from "../reader.ts";
import { nameSalvage } from "../reader-steps.ts";
import { selectReader } from "../selection/select-reader.ts";
import { Selection } from "../selection/selection.ts";
import { type Source, siblingOf, sourceOf } from "../sources/open-source.ts";
import { type SourceFile, sortPaths } from "../sources/source.ts";
import { TfRecords } from "../tfds/tfrecord.ts";
import { EpisodeCollector, stepSpecOf } from "./episodes.ts";
import { type FeatureLeaf, featureLeaves } from "./features.ts";
import { isSpecPath, NO_RECORDS, specOfFiles } from "./files.ts";
import { isTrajectorySpec } from "./named-tuples.ts";
import { readSpecFile } from "./spec-file.ts";
import { StepDecoder } from "./step-decoder.ts";
import { SPEC_ENDING } from "./structured-value.ts";

export interface TfrecordOptions extends ReadOptions {
  /** The spec of a record, which must describe trajectories. Default: the spec file next to the records. */
  readonly spec?: Spec;
  /** Whether u8 leaves with three dimensions are stored as JPEG, as TF-Agents does with `compress_image`. Default: false. */
  readonly compressImage?: boolean;
  /** A replacement for the runtime's `fetch`, for URLs. */
  readonly fetch?: Fetch;
}

/** A file of records that is opened again for each iteration. */
interface OpenableFile {
  readonly name: string;
  open(): Promise<SourceFile>;
}

/**
 * Opens a file that the TFRecordObserver of TF-Agents wrote, or a folder of such files. Each file must have a `.spec` file next to it. A boundary trajectory
 * becomes the final step of its episode. Opening reads only the spec. The checksum of every record is verified. Keeps one episode and two blocks of a file in
 * memory.
 * @throws TypeError, RangeError if an option is invalid
 * @throws ReplayError SPEC_MISMATCH if the spec does not describe trajectories, or if TF-Agents cannot write it
 * @throws RldsError NOT_FOUND if a file or its spec does not exist
 * @throws RldsError CORRUPT if a file is damaged
 * @throws RldsError UNSUPPORTED if records are not trajectories
 * @throws RldsError SPEC_MISMATCH if the specs of files differ
 * @throws RldsError IO if a file cannot be read
 */
export async function openTfrecord<S = RldsStep>(from: Source, options: TfrecordOptions = {}): Promise<RldsReader<S>> {
  const known = onlyKeys("options", options, `spec, compressImage, fetch, ${READ_OPTIONS}`);
  const { spec: statedSpec, compressImage = false, salvage, fetch, signal, maxBytes = MAX_SOURCE_BYTES } = known;
  const selection = new Selection(options);
  const losses = damageOf(salvage);
  flag("compressImage", compressImage);
  integer("maxBytes", maxBytes, 1);
  if (statedSpec !== undefined) checkStatedSpec(statedSpec);
  const { name, files, spec, close } = await filesOf(from, statedSpec, { signal, fetch, maxBytes });
  try {
    if (!isTrajectorySpec(spec))
      throw unsupportedFile({ file: name }, "the records are not trajectories, so they have no episodes. Read them with loadTfrecordDataset of reprise/agents");
    const leaves = featureLeaves(spec);
    const [field] = wideStepTypes(leaves);
    if (field !== undefined) throw unsupportedFile({ file: name }, `${field} must be a single number in the spec`);
    const stepSpec = stepSpecOf(spec as { readonly [name: string]: StepSpec });
    const decoder = await StepDecoder.create(leaves, compressImage, maxBytes);
    let closed = false;
    const reader: RldsReader<S> = {
      format: "tfrecord",
      name: name.replace(/\.tfrecords?$/i, ""),
      stepSpec,
      metadataSpec: finalStepSpec(),
      about: {},
      ...withDamage(losses),
      async *[Symbol.asyncIterator](): AsyncGenerator<ReadEpisode<S>, void, undefined> {
        let episode = 0;
        for (const file of files) {
          const source = await file.open();
          const records = new TfRecords(source, { maxBytes, ...(signal && { signal }) });
          const collector = new EpisodeCollector(leaves, stepSpec, source.name, maxBytes);
          let ended: readonly ReadEpisode<RldsStep>[] = [];
          try {
            while (!records.atEnd) {
              signal?.throwIfAborted();
              if (closed) throw new RldsError("CLOSED", "the reader is closed. Open the dataset again", { episode });
              try {
                const bytes = await records.next();
                ended = collector.add(decoder.decode(bytes, { file: source.name, offset: records.offset, episode }), episode, records.offset);
              } catch (error) {
                if (losses === undefined) throw error;
                losses.add(error);
                // Steps are missing at this point, so the episode is cut into two parts.
                ended = collector.end();
                if (!records.isPast) break;
              }
              episode += ended.length;
              yield* ended as unknown as ReadEpisode<S>[];
              ended = [];
            }
            ended = [...ended, ...collector.end()];
            episode += ended.length;
            yield* ended as unknown as ReadEpisode<S>[];
          } finally {
            await records.close();
          }
        }
      },
      async close() {
        closed = true;
        await close();
      },
    };
    return nameSalvage(await selectReader(reader, selection));
  } catch (error) {
    await close();
    throw error;
  }
}

/** Checks the option `spec`. @throws TypeError if it is not a spec · ReplayError SPEC_MISMATCH if it does not describe trajectories */
function checkStatedSpec(spec: Spec): void {
  if (!isTrajectorySpec(spec))
    throw mustBe(
      typeof spec === "object" && spec !== null ? "SPEC_MISMATCH" : TypeError,
      "spec",
      "a spec of trajectories, such as the result of trajectorySpec(…) of reprise/agents",
      spec,
    );
  const leaves = featureLeaves(spec);
  const [field] = wideStepTypes(leaves);
  if (field === undefined) return;
  const shape = leaves.find(({ keys }) => keys.join(".") === field)?.shape;
  const value = shape === undefined ? "nested leaves" : `a leaf of shape [${shape.join(", ")}]`;
  throw new ReplayError("SPEC_MISMATCH", `the spec of ${field} must be a single number, got ${value}`);
}

/** Returns the names of step types that are not a single number. */
function wideStepTypes(leaves: readonly FeatureLeaf[]): string[] {
  return ["stepType", "nextStepType"].filter((field) => leaves.find(({ keys }) => keys.join(".") === field)?.size !== 1);
}

/** Matches the ending of a compressed file. A file may be compressed as a whole, but its spec is not. */
const COMPRESSED_ENDING = /(\.gz|\.zst)?$/i;

interface Files {
  readonly name: string;
  readonly files: readonly OpenableFile[];
  readonly spec: Spec;
  close(): Promise<void>;
}

async function filesOf(
  from: Source,
  statedSpec: Spec | undefined,
  options: { readonly signal?: AbortSignal | undefined; readonly fetch?: Fetch | undefined; readonly maxBytes: number },
): Promise<Files> {
  const { maxBytes } = options;
  const { file, folder } = await decompressedSource(from, options as never);
  if (folder !== undefined) {
    const paths = (await folder.list()) ?? [];
    const found = sortPaths(paths.filter((path) => paths.includes(`${path}${SPEC_ENDING}`)));
    if (found.length === 0)
      throw new RldsError(
        "NOT_FOUND",
        "the folder has no file with a spec next to it, such as steps.tfrecord and steps.tfrecord.spec. Pass the path of the file",
        {
          file: folder.name,
        },
      );
    const spec = statedSpec ?? (await specOfFiles(found, (path) => folder.open(path), maxBytes));
    return { name: folder.name, files: found.map((path) => ({ name: path, open: () => folder.open(path) })), spec, close: async () => {} };
  }
  try {
    const spec = statedSpec ?? (await specBeside(from, file, options));
    const shared: SourceFile = { name: file.name, size: file.size, read: (at, length) => file.read(at, length), close: async () => {} };
    return { name: file.name, files: [{ name: file.name, open: async () => shared }], spec, close: () => file.close() };
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function specBeside(from: Source, file: SourceFile, options: { readonly maxBytes: number }): Promise<Spec> {
  const sibling = siblingOf(from, COMPRESSED_ENDING, SPEC_ENDING);
  const missing = (cause?: unknown) =>
    unsupportedFile(
      { file: file.name },
      `the records do not contain their spec. Put the TF-Agents file ${file.name}${SPEC_ENDING} next to this file, or pass the option spec. For tensorflow_datasets, pass the folder`,
      cause,
    );
  if (isSpecPath(file.name)) throw unsupportedFile({ file: file.name }, NO_RECORDS);
  if (sibling === undefined) throw missing();
  const { file: specFile } = await sourceOf(sibling, options).catch((cause) => {
    throw cause instanceof RldsError && cause.code === "NOT_FOUND" ? missing(cause) : cause;
  });
  if (specFile === undefined) throw missing();
  return readSpecFile(specFile, options.maxBytes);
}
