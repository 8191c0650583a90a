/** Writes an RLDS dataset as an archive of NumPy arrays. */
import { integer, mustBe } from "../../../base/error.ts";
import { MAX_SOURCE_BYTES } from "../../../base/file-limits.ts";
import { readChunks } from "../../model/chunks.ts";
import type { RldsDataset, StepLeaf, StepSpec } from "../../model/dataset.ts";
import { FINAL_STEP, finalStepOf, finalStepSpec } from "../../model/final-step.ts";
import { leavesOf } from "../../model/leaves.ts";
import { RldsError } from "../../model/rlds-error.ts";
import type { ColumnData } from "../../model/step-columns.ts";
import { mustBeStepSpec } from "../../model/step-fields.ts";
import { addFilmLosses } from "../film-references.ts";
import { leafNames } from "../sinks/free-names.ts";
import type { Losses } from "../sinks/losses.ts";
import { type FileTask, metadataRow, writeSingleFile } from "../sinks/single-file.ts";
import type { Sink } from "../sinks/sink.ts";
import type { WriteOptions, WriteReport } from "../sinks/writer.ts";
import { ArrayWriter } from "./array-writer.ts";
import { EPISODE, MARK, VERSION } from "./own-archive.ts";
import { ZipWriter } from "./zip-writer.ts";

export interface NpzWriteOptions extends WriteOptions {
  /**
   * The compression of the arrays. "deflate" produces smaller files, as `numpy.savez_compressed` does, but readers must then load whole arrays. Default:
   * "none".
   */
  readonly compression?: "none" | "deflate";
  /** The maximum total size of all arrays in bytes. The arrays are in memory until all steps have been added. Default: 1 GiB. */
  readonly maxBytes?: number;
}

const CHUNK_STEPS = 1024;
const TEXT = { dtype: "string", shape: [] } as const;
const I64 = { dtype: "i64", shape: [] } as const;

/**
 * Writes an .npz archive with one array per leaf, such as `observation/state`, `action`, `reward` or `is_first`. An array contains the consecutive steps of all
 * episodes. The rows are RLDS steps, so final observations are also rows. `lengths` contains the number of steps per episode, and the arrays `episode/…`
 * contain the metadata of each episode, including `final_step`. Open the archive with `numpy.load`. If the path does not end with .npz, it is a folder, and the
 * file is steps.npz. The same data produces the same bytes. Keeps the whole dataset in memory, up to maxBytes.
 * @throws TypeError, RangeError if an option is invalid
 * @throws RldsError SPEC_MISMATCH if a step does not match the spec. The error includes the episode, the step and the leaf
 * @throws RldsError UNSUPPORTED if the arrays exceed maxBytes
 * @throws RldsError EMPTY if the dataset has neither a spec nor a step from which to infer it
 * @throws RldsError IO if the target cannot be written or already exists
 */
export async function writeNpz(rlds: RldsDataset<unknown>, to: Sink, options: NpzWriteOptions = {}): Promise<WriteReport> {
  const format = { endings: [".npz"], name: "steps.npz", options: "compression, maxBytes" };
  return writeSingleFile(rlds, to, format, options, async (task, { compression = "none", maxBytes = MAX_SOURCE_BYTES, onProgress }) => {
    if (compression !== "none" && compression !== "deflate") throw mustBe(RangeError, "compression", '"none" or "deflate"', compression);
    integer("maxBytes", maxBytes, 1);
    const archive = new Archive(task, maxBytes);
    const { data, file, signal, about, losses } = task;
    for await (const { steps, ...metadata } of data.episodes) {
      losses.addSplits(metadata);
      const episode = archive.episodes;
      let length = 0;
      let isLast = false;
      for await (const chunk of readChunks(steps, data.stepSpec, { episode, max: CHUNK_STEPS, signal })) {
        archive.addSteps(chunk.data, chunk.length);
        length += chunk.length;
        isLast = archive.endsWithLast(chunk.data, chunk.length);
      }
      archive.endEpisode({ ...metadata, [FINAL_STEP]: finalStepOf(metadata, isLast) }, length);
      onProgress?.({ episodes: archive.episodes, steps: archive.steps, bytes: archive.bytes });
    }
    const zip = new ZipWriter(file);
    const mark = new ArrayWriter(TEXT);
    mark.add([JSON.stringify({ version: VERSION, stepSpec: data.stepSpec, ...(about && { about }) })], 1);
    await zip.add(`${MARK}.npy`, mark.finish(true), false);
    for (const [name, array] of archive.arrays) {
      if (array.losesEnds) losses.add(name, "NumPy strips zeros from the ends of strings");
      task.checkLosses();
      await zip.add(`${name}.npy`, array.finish(), compression === "deflate");
      signal?.throwIfAborted();
    }
    await zip.finish();
    return { episodes: archive.episodes, steps: archive.steps, repeated: 0 };
  });
}

/** The arrays of the archive, which grow with each episode and are written at the end. */
class Archive {
  readonly arrays = new Map<string, ArrayWriter>();
  episodes = 0;
  steps = 0;
  readonly #steps: readonly (ArrayWriter | undefined)[];
  readonly #metadata: readonly (ArrayWriter | undefined)[];
  readonly #metadataSpec: { readonly [name: string]: StepSpec };
  readonly #lengths: ArrayWriter;
  readonly #isLast: number;
  readonly #maxBytes: number;

  /** @throws RldsError if the spec is invalid, or if losses are not allowed and the archive cannot store a part of the data */
  constructor({ data: { stepSpec, metadataSpec }, losses, checkLosses }: FileTask, maxBytes: number) {
    mustBeStepSpec(stepSpec);
    this.#maxBytes = maxBytes;
    this.#metadataSpec = finalStepSpec(metadataSpec);
    this.#steps = this.#create(stepSpec, "", losses);
    this.#lengths = new ArrayWriter(I64);
    this.arrays.set("lengths", this.#lengths);
    this.#metadata = this.#create(this.#metadataSpec as StepSpec, EPISODE, losses);
    this.#isLast = leavesOf(stepSpec).findIndex(({ path, size }) => path === "is_last" && size === 1);
    addFilmLosses(losses, stepSpec);
    losses.addEmptyGroups(stepSpec, metadataSpec);
    checkLosses();
  }

  /** Returns one array per leaf, or undefined for a leaf that the archive cannot store. */
  #create(spec: StepSpec, prefix: string, losses: Losses): (ArrayWriter | undefined)[] {
    return leavesOf(spec).map(({ path, keys, leaf }) => {
      if (leaf.dtype === "bytes") {
        losses.add(prefix + path, "NumPy cannot store bytes of different lengths");
        return undefined;
      }
      const array = new ArrayWriter(leaf as StepLeaf);
      this.arrays.set(arrayName(spec, keys, prefix, losses), array);
      return array;
    });
  }

  get bytes(): number {
    let bytes = 0;
    for (const array of this.arrays.values()) bytes += array.bytes;
    return bytes;
  }

  addSteps(data: readonly ColumnData[], rows: number): void {
    for (const [k, array] of this.#steps.entries()) array?.add(data[k] as ColumnData, rows);
  }

  endsWithLast(data: readonly ColumnData[], rows: number): boolean {
    return data[this.#isLast]?.[rows - 1] === 1;
  }

  endEpisode(metadata: object, length: number): void {
    const row = metadataRow(this.#metadataSpec, metadata, this.episodes);
    for (const [k, array] of this.#metadata.entries()) array?.add(row[k] as ColumnData, 1);
    this.#lengths.add(BigInt64Array.of(BigInt(length)), 1);
    this.episodes++;
    this.steps += length;
    if (this.bytes > this.#maxBytes)
      throw new RldsError(
        "UNSUPPORTED",
        `a NumPy archive is built in memory, and this archive takes more than the ${this.#maxBytes} bytes that maxBytes allows. Increase maxBytes, or write Parquet`,
        { episode: this.episodes - 1 },
      );
  }
}

/** The top-level names that the archive uses for its additional arrays, so leaves of steps cannot have them. */
const RESERVED = ["lengths", "episode", MARK];

/**
 * Returns the name of a leaf's array. If another array has this name, or if a part of the name is empty or contains a slash or NUL, the array is renamed and a
 * loss is recorded.
 */
function arrayName(spec: StepSpec, keys: readonly string[], prefix: string, losses: Losses): string {
  const { own, free } = leafNames(spec, keys, { reserved: prefix === "" ? RESERVED : [], tidy });
  if (free.some((name, depth) => name !== own[depth]))
    losses.add(`the name ${JSON.stringify(prefix + own.join("/"))}`, `the archive has none like it, and the leaf is called ${free.join("/")}`);
  return prefix + free.join("/");
}

function tidy(name: string): string {
  return name === "" ? "_" : name.replace(/[/\0]/g, "_");
}
