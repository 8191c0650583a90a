/** Reads files of trajectories: `load_tfrecord_dataset` of TF-Agents. */
import { flag, integer, mustBe, onlyKeys, ReplayError } from "../../base/error.ts";
import { MAX_SOURCE_BYTES } from "../../base/file-limits.ts";
import type { Fetch } from "../../base/host.ts";
import { type FeatureLeaf, featureLeaves } from "../../datasets/formats/tfrecord/features.ts";
import type { FileSource } from "../../datasets/formats/tfrecord/files.ts";
import { TRAJECTORY_FIELDS } from "../../datasets/formats/tfrecord/named-tuples.ts";
import { Column, isColumn } from "../../schema/column.ts";
import { isLeaf } from "../../schema/leaf.ts";
import { leaves, pack } from "../../schema/nest.ts";
import type { Spec } from "../../schema/spec.ts";
import { isPromise } from "../awaitable.ts";
import { batchOfOne, stack } from "../nest.ts";

export interface TfrecordDatasetOptions<S extends Spec = Spec> {
  /**
   * Whether an element is a pair of consecutive records, which is the form that an agent's `train` accepts. A last record without a partner is omitted. For
   * several files, set `numParallelReads: 1`. Otherwise, the files are read in turn, and the two records of a pair come from different files, as in TF-Agents.
   * Pairs may also span two episodes or two files. Default: false.
   */
  readonly asExperience?: boolean;
  /** Whether elements, and the dataset's `spec`, are trajectories, even if the spec is a tuple of their seven fields. Default: false. */
  readonly asTrajectories?: boolean;
  /** Whether an element has a leading dimension of 1, if it is not a pair. Default: true. */
  readonly addBatchDim?: boolean;
  /**
   * A function that decodes a record. It replaces decoding with the spec. The function returns an element, which is a nest of columns, or a promise of an
   * element. If neither `addBatchDim` nor `asExperience` is set, it may return any value.
   */
  readonly decoder?: (record: Uint8Array) => unknown;
  /** The number of files that are read in turn, one record from each. 1 reads the files one after the other. Default: all files. */
  readonly numParallelReads?: number;
  /** Whether leaves of u8 with three dimensions are stored as JPEG. Default: false. */
  readonly compressImage?: boolean;
  /** The spec of a record. Default: the spec in the spec files, which must all be equal. */
  readonly spec?: S;
  /**
   * The folder of the files: a directory handle, a Map of files, or a directory of reprise/storage. Default: none, so each path is a path in the file system,
   * or a URL.
   */
  readonly from?: FileSource;
  /** A replacement for the runtime's `fetch`, for URLs. */
  readonly fetch?: Fetch;
  readonly signal?: AbortSignal;
  /** The maximum memory for one record, in bytes. Default: 1 GiB. */
  readonly maxBytes?: number;
}

/** A dataset whose elements are nested like the spec, with a column at each leaf. It can be iterated repeatedly; each iteration reads the files again. */
// biome-ignore lint/suspicious/noExplicitAny: of any spec, or what a decoder makes
export interface TfrecordDataset<S extends Spec = Spec> extends AsyncIterable<any> {
  /** The spec of an element, without the dimension of a batch or pair. Undefined with a decoder and without the option `spec`. */
  readonly spec: S | undefined;
}

const OPTIONS = "asExperience, asTrajectories, addBatchDim, decoder, numParallelReads, compressImage, spec, from, fetch, signal, maxBytes";
/** The spec of the trajectories into which `asTrajectories` converts a tuple. */
export type TrajectoriesSpec<S extends Spec> = S extends readonly unknown[] ? Spec : S;

/**
 * Opens files that `TFRecordObserver` has written, here or in Python. Half floats become f32. Memory holds one record of each file that is read in turn, and
 * blocks of about 128 MiB in total. At most 144 files are open at the same time.
 * @param datasetFiles the paths of the files. Each file needs a `.spec` file next to it, unless a decoder or a spec is passed
 * @throws TypeError, RangeError if an argument is invalid
 * @throws ReplayError SPEC_MISMATCH if TF-Agents cannot write the spec, or if the spec does not describe trajectories
 * @throws RldsError NOT_FOUND if a file does not exist
 * @throws RldsError CORRUPT if a file is damaged
 * @throws RldsError UNSUPPORTED if the records cannot be decoded with the spec
 * @throws RldsError SPEC_MISMATCH if the specs of files differ
 */
export async function loadTfrecordDataset<S extends Spec = Spec>(
  datasetFiles: readonly string[],
  options: TfrecordDatasetOptions<S> & { readonly asTrajectories: true },
): Promise<TfrecordDataset<TrajectoriesSpec<S>>>;
export async function loadTfrecordDataset<S extends Spec = Spec>(
  datasetFiles: readonly string[],
  options?: TfrecordDatasetOptions<S>,
): Promise<TfrecordDataset<S>>;
export async function loadTfrecordDataset<S extends Spec = Spec>(
  datasetFiles: readonly string[],
  options: TfrecordDatasetOptions<S> = {},
): Promise<TfrecordDataset<Spec>> {
  const known = onlyKeys("options", options, OPTIONS);
  const { asExperience = false, asTrajectories = false, addBatchDim = true, decoder, compressImage = false } = known;
  const { from, fetch, signal, maxBytes = MAX_SOURCE_BYTES } = known;
  if (!Array.isArray(datasetFiles) || datasetFiles.length === 0 || datasetFiles.some((path) => typeof path !== "string"))
    throw mustBe(TypeError, "datasetFiles", "an array of paths", datasetFiles);
  for (const [name, value] of Object.entries({ asExperience, asTrajectories, addBatchDim, compressImage })) flag(name, value);
  if (decoder !== undefined && typeof decoder !== "function") throw mustBe(TypeError, "decoder", "a function", decoder);
  integer("maxBytes", maxBytes, 1);
  const { numParallelReads = datasetFiles.length } = known;
  integer("numParallelReads", numParallelReads, 1);
  if (known.spec !== undefined) featureLeaves(known.spec);
  const files = await import("../../datasets/formats/tfrecord/files.ts");
  const open = await files.fileOpener(from, { maxBytes, ...(signal && { signal }), ...(fetch && { fetch }) });
  const spec: Spec | undefined = known.spec ?? (decoder === undefined ? await files.specOfFiles(datasetFiles, open, maxBytes) : undefined);
  const decode = decoder === undefined ? await elementDecoder(spec as Spec, compressImage, maxBytes) : checkedDecoder(decoder, asExperience || addBatchDim);
  const elementSpec = asTrajectories && spec !== undefined ? (toTrajectory(spec, "spec") as Spec) : spec;
  const { recordsOf } = await import("../../datasets/formats/tfrecord/records-of.ts");
  const paths = [...datasetFiles];
  // Files that are read over the network do not count as open files.
  const openFiles = [from ?? paths].flat().every(files.isHttp) ? Number.POSITIVE_INFINITY : undefined;
  return {
    spec: elementSpec,
    async *[Symbol.asyncIterator]() {
      const finish = (element: unknown) => (asTrajectories ? toTrajectory(element, decoder === undefined ? "spec" : "the result of decoder") : element);
      let previous: unknown;
      for await (const { bytes, file, offset } of recordsOf(paths, open, { cycleLength: numParallelReads, maxBytes, signal, openFiles })) {
        const made = decode(bytes, { file, offset });
        const element = isPromise(made) ? await made : made;
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
  const features = featureLeaves(spec);
  const { StepDecoder } = await import("../../datasets/formats/tfrecord/step-decoder.ts");
  const decoder = await StepDecoder.create(features, compressImage, maxBytes);
  return (bytes, place) => {
    const data = decoder.decode(bytes, place);
    const columns = features.map(({ shape }: FeatureLeaf, i) => new Column(data[i] as Column["data"], [...shape]));
    return pack(spec, columns);
  };
}

/**
 * Returns a decoder that checks the results of the program's decoder. @param areColumns whether the element must be a nest of columns, which get a dimension
 * @throws ReplayError SPEC_MISMATCH from the decoder
 */
function checkedDecoder(decoder: (record: Uint8Array) => unknown, areColumns: boolean): Decode {
  const checked = (element: unknown) => {
    if (areColumns) checkColumns(element);
    return element;
  };
  return (bytes) => {
    const made = decoder(bytes);
    return isPromise(made) ? made.then(checked) : checked(made);
  };
}

function checkColumns(element: unknown): void {
  for (const { keys, leaf } of leaves<unknown>(
    element as never,
    (node) => typeof node !== "object" || node === null || ArrayBuffer.isView(node) || isColumn(node),
  ))
    if (!isColumn(leaf)) {
      const where = keys.length === 0 ? "the result of decoder" : `${keys.join(".")} in the result of decoder`;
      const { message } = mustBe(TypeError, where, "a column {data, shape}", leaf);
      throw new ReplayError("SPEC_MISMATCH", `${message}. For other elements, set addBatchDim: false and omit asExperience`);
    }
}

/**
 * Returns an element as an object with the fields of a trajectory. A tuple must have the fields in the order of TF-Agents.
 * @param subject the name of the element in errors
 * @throws ReplayError SPEC_MISMATCH if the element has other fields
 */
function toTrajectory(element: unknown, subject: string): unknown {
  const names = TRAJECTORY_FIELDS;
  const found = typeof element === "object" && element !== null && !isLeaf(element) ? Object.keys(element) : [];
  if (found.length === names.length) {
    if (Array.isArray(element)) return Object.fromEntries(names.map((name, i) => [name, element[i]]));
    if (names.every((name) => found.includes(name))) return element;
  }
  throw mustBe("SPEC_MISMATCH", subject, `an object or tuple of the fields ${names.join(", ")} with asTrajectories`, element);
}
