/** Reads files of trajectories: TF-Agents' `load_tfrecord_dataset`. */
import { flag, integer, mustBe, onlyKeys } from "../../base/error.ts";
import { MAX_SOURCE_BYTES } from "../../base/file-limits.ts";
import type { Fetch } from "../../base/host.ts";
import { type FeatureLeaf, featureLeaves, TRAJECTORY_FIELDS } from "../../datasets/formats/tfrecord/features.ts";
import type { FileSource } from "../../datasets/formats/tfrecord/files.ts";
import { Column } from "../../schema/column.ts";
import { isLeaf } from "../../schema/leaf.ts";
import { pack } from "../../schema/nest.ts";
import type { Spec } from "../../schema/spec.ts";
import { batchOfOne, stack } from "../nest.ts";

export interface TfrecordDatasetOptions<S extends Spec = Spec> {
  /** Whether an element is a pair of records that follow each other, as an agent's `train` takes it. The last one is left out if it has no partner. Default: false. */
  readonly asExperience?: boolean;
  /** Whether elements are trajectories, also if the spec is a tuple of their seven fields. Default: false. */
  readonly asTrajectories?: boolean;
  /** Whether an element has a leading dimension of 1, unless it is a pair. Default: true. */
  readonly addBatchDim?: boolean;
  /** Makes an element of a record: a nest of columns. It replaces the spec. */
  readonly decoder?: (record: Uint8Array) => unknown;
  /** Files that are read by turns, a record of each. Default: all of them. */
  readonly numParallelReads?: number;
  /** Whether leaves of u8 with three dimensions are stored as JPEG. Default: false. */
  readonly compressImage?: boolean;
  /** What a record is. Default: what the spec files say, which must all be equal. */
  readonly spec?: S;
  /** The folder in which the files are: a directory handle, a Map of files, or a directory of reprise/storage. Default: each is a path of the system, or a URL. */
  readonly from?: FileSource;
  /** Replaces the runtime's `fetch`, for URLs. */
  readonly fetch?: Fetch;
  readonly signal?: AbortSignal;
  /** The most bytes that one record may take in memory. Default: 1 GiB. */
  readonly maxBytes?: number;
}

/** Elements are nested as the spec, with a column at each leaf. It can be iterated again and again; each time reads the files anew. */
// biome-ignore lint/suspicious/noExplicitAny: of any spec, or what a decoder makes
export interface TfrecordDataset<S extends Spec = Spec> extends AsyncIterable<any> {
  /** What a record is. Undefined with a decoder and without the option `spec`. */
  readonly spec: S | undefined;
}

const OPTIONS = "asExperience, asTrajectories, addBatchDim, decoder, numParallelReads, compressImage, spec, from, fetch, signal, maxBytes";
const MAX_PARALLEL_READS = 4096;

/**
 * Reads files that `TFRecordObserver` has written, here or in Python. Half floats are f32 in memory. Memory: a record and two blocks of each file.
 * @param datasetFiles paths; next to each is its `.spec` file, unless there is a decoder or a spec
 * @throws TypeError, RangeError for an argument · RldsError NOT_FOUND · CORRUPT · UNSUPPORTED · SPEC_MISMATCH for files whose specs differ
 */
export async function loadTfrecordDataset<S extends Spec = Spec>(
  datasetFiles: readonly string[],
  options: TfrecordDatasetOptions<S> = {},
): Promise<TfrecordDataset<S>> {
  const known = onlyKeys("options", options, OPTIONS);
  const { asExperience = false, asTrajectories = false, addBatchDim = true, decoder, compressImage = false } = known;
  const { from, fetch, signal, maxBytes = MAX_SOURCE_BYTES } = known;
  if (!Array.isArray(datasetFiles) || datasetFiles.length === 0 || datasetFiles.some((path) => typeof path !== "string"))
    throw mustBe(TypeError, "datasetFiles", "an array of paths", datasetFiles);
  for (const [name, value] of Object.entries({ asExperience, asTrajectories, addBatchDim, compressImage })) flag(name, value);
  if (decoder !== undefined && typeof decoder !== "function") throw mustBe(TypeError, "decoder", "a function", decoder);
  integer("maxBytes", maxBytes, 1);
  const { numParallelReads = datasetFiles.length } = known;
  integer("numParallelReads", numParallelReads, 1, MAX_PARALLEL_READS);
  const files = await import("../../datasets/formats/tfrecord/files.ts");
  const open = await files.fileOpener(from, { maxBytes, ...(signal && { signal }), ...(fetch && { fetch }) });
  const spec = known.spec ?? (decoder === undefined ? ((await files.specOfFiles(datasetFiles, open, maxBytes)) as S) : undefined);
  const decode = decoder === undefined ? await elementDecoder(spec as S, compressImage, maxBytes) : (bytes: Uint8Array) => decoder(bytes);
  if (asTrajectories && spec !== undefined) toTrajectory(spec);
  const { recordsOf } = await import("../../datasets/formats/tfrecord/records-of.ts");
  const paths = [...datasetFiles];
  return {
    spec,
    async *[Symbol.asyncIterator]() {
      const finish = (element: unknown) => (asTrajectories ? toTrajectory(element) : element);
      let previous: unknown;
      for await (const { bytes, file, offset } of recordsOf(paths, open, { cycleLength: numParallelReads, maxBytes, signal })) {
        const element = decode(bytes, { file, offset });
        if (!asExperience) {
          yield finish(addBatchDim ? batchOfOne(element) : element);
          continue;
        }
        if (previous === undefined) previous = element;
        else {
          const pair = stack([previous, element]);
          previous = undefined;
          yield finish(pair);
        }
      }
    },
  };
}

type Decode = (bytes: Uint8Array, place: { readonly file: string; readonly offset: number }) => unknown;

async function elementDecoder(spec: Spec, compressImage: boolean, maxBytes: number): Promise<Decode> {
  const leaves = featureLeaves(spec);
  const { StepDecoder } = await import("../../datasets/formats/tfrecord/step-decoder.ts");
  const decoder = await StepDecoder.create(leaves, compressImage, maxBytes);
  return (bytes, place) => {
    const data = decoder.decode(bytes, place);
    const columns = leaves.map(({ shape }: FeatureLeaf, i) => new Column(data[i] as Column["data"], [...shape]));
    return pack(spec, columns);
  };
}

/** The fields of a trajectory, which a tuple has in TF-Agents' order. @throws ReplayError SPEC_MISMATCH */
function toTrajectory(element: unknown): unknown {
  const names = [...TRAJECTORY_FIELDS.keys()];
  const found = typeof element === "object" && element !== null && !isLeaf(element) ? Object.keys(element) : [];
  if (found.length === names.length) {
    if (Array.isArray(element)) return Object.fromEntries(names.map((name, i) => [name, element[i]]));
    if (names.every((name) => found.includes(name))) return element;
  }
  throw mustBe("SPEC_MISMATCH", "the spec of asTrajectories", `an object or tuple of the fields ${names.join(", ")}`, element);
}
