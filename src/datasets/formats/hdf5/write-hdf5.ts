/** Writes an RLDS dataset as an HDF5 file in the layout of robomimic. */
import { integer, mustBe } from "../../../base/error.ts";
import { MAX_SOURCE_BYTES } from "../../../base/file-limits.ts";
import { columnsOf } from "../../model/chunks.ts";
import type { RldsDataset, RldsEpisode, StepLeaf, StepSpec } from "../../model/dataset.ts";
import { splitsOf } from "../../model/episode-splits.ts";
import { FINAL_STEP, FINAL_STEP_LEAF, type FinalStep, finalStepOf, withoutFinalStep } from "../../model/final-step.ts";
import { leavesOf } from "../../model/leaves.ts";
import { RldsError } from "../../model/rlds-error.ts";
import { type ColumnData, slicedColumn } from "../../model/step-columns.ts";
import type { About } from "../about.ts";
import { joined } from "../columns/column.ts";
import { addFilmLosses } from "../film-references.ts";
import type { Losses } from "../sinks/losses.ts";
import { type FileTask, metadataRow, writeSingleFile } from "../sinks/single-file.ts";
import type { Sink } from "../sinks/sink.ts";
import type { WriteOptions, WriteReport } from "../sinks/writer.ts";
import { ABOUT, type DemoLeaf, demoLeaves, STATES } from "./demo-layout.ts";
import { Hdf5Writer, MAX_ATTRIBUTE_BYTES } from "./hdf5-writer.ts";
import type { H5wasm } from "./package.ts";

/** The options of `writeHdf5`. */
export interface Hdf5WriteOptions extends WriteOptions {
  /**
   * The arguments with which robomimic creates the environment, such as `env_name`, `type` and `env_kwargs`. Default: `env_args` of `about`, otherwise a Gym
   * environment with the `env_name` of `about`, or with an empty name.
   */
  readonly envArgs?: { readonly [key: string]: unknown };
  /** The maximum size of the file in bytes. The file is created in memory. Default: 1 GiB. */
  readonly maxBytes?: number;
  /** The package h5wasm, if it cannot be imported by name. Default: the installed package. */
  readonly h5wasm?: H5wasm;
}

const I64 = { dtype: "i64", shape: [] } as const;
const U8 = { dtype: "u8", shape: [] } as const;
const TEXT = { dtype: "string", shape: [] } as const;
/** The environment type that robomimic uses for Gym environments. */
const GYM = 2;

/**
 * Writes an HDF5 file in the layout of robomimic. It contains groups `data/demo_0` … with `actions`, `rewards`, `dones`, `obs/…`, `next_obs/…` and the
 * attribute `num_samples`. The group `data` has the attributes `total` and `env_args`. `mask/train` lists all episodes, or `mask` contains the splits of the
 * source if there are any.
 *
 * A row is a transition, and the last row of `next_obs` is the final observation. If an episode ends with a transition, the last observation is repeated there,
 * and the attribute `final_step` states this, so openRobots can restore the episode. `dones` is 1 in the last row of an episode that terminated. An observation
 * that is a single leaf becomes `obs/state` or `obs/image`. Metadata of steps become datasets, and metadata of episodes become attributes. If the layout itself
 * uses the name of a leaf, such as `dones`, the leaf is renamed, for example to `dones_`, and `losses` reports this.
 *
 * If the path does not end with .hdf5 or .h5, it is a folder, and the file is demo.hdf5. Requires h5wasm. The whole file, up to maxBytes, and one episode are
 * in memory.
 * @throws TypeError, RangeError if an option is invalid
 * @throws RldsError SPEC_MISMATCH if a step does not match the spec. The error includes the episode, the step and the leaf
 * @throws RldsError UNSUPPORTED if h5wasm is missing, if the file exceeds maxBytes, if the layout cannot store the reward or the discount, or if `strict` is
 * set and data would be lost
 * @throws RldsError EMPTY if there are no transitions
 * @throws RldsError IO if the target cannot be written or already exists
 */
export function writeHdf5(rlds: RldsDataset<unknown>, to: Sink, options: Hdf5WriteOptions = {}): Promise<WriteReport> {
  const format = { endings: [".hdf5", ".h5"], name: "demo.hdf5", options: "envArgs, maxBytes, h5wasm" };
  return writeSingleFile(rlds, to, format, options, async (task, { envArgs, maxBytes = MAX_SOURCE_BYTES, h5wasm, onProgress }) => {
    if (envArgs !== undefined && (typeof envArgs !== "object" || envArgs === null)) throw mustBe(TypeError, "envArgs", "a JSON object", envArgs);
    integer("maxBytes", maxBytes, 1);
    const { data, file, signal, about = {} } = task;
    const hdf5 = await Hdf5Writer.of(h5wasm);
    try {
      const demos = new DemoWriter(task, hdf5);
      hdf5.group("/data");
      let episodes = 0;
      for await (const episode of data.episodes) {
        await demos.add(episode, episodes++);
        if (hdf5.bytes > maxBytes)
          throw new RldsError(
            "UNSUPPORTED",
            `an HDF5 file is built in memory, and this file takes more than the ${maxBytes} bytes that maxBytes allows. Increase maxBytes, or write Parquet`,
            {
              episode: episodes - 1,
            },
          );
        onProgress?.({ episodes, steps: demos.steps, bytes: hdf5.bytes });
        signal?.throwIfAborted();
      }
      if (demos.names.length === 0) throw new RldsError("EMPTY", "the dataset must have at least one transition, because robomimic cannot open an empty file");
      hdf5.attribute("/data", "total", I64, BigInt64Array.of(BigInt(demos.transitions)));
      hdf5.attribute("/data", "env_args", TEXT, [envArgsOf(envArgs, about)]);
      hdf5.group("/mask");
      for (const [split, names] of demos.splits) hdf5.dataset(`/mask/${split}`, TEXT, names, names.length);
      const others = Object.fromEntries(Object.entries(about).filter(([name]) => !["total", "env_args", "unread"].includes(name)));
      if (Object.keys(others).length > 0) hdf5.dataset(ABOUT, TEXT, [JSON.stringify(others)], 1);
      await hdf5.copyTo(file);
      return { episodes: demos.names.length, steps: demos.steps, repeated: 0 };
    } finally {
      hdf5.release();
    }
  });
}

function envArgsOf(envArgs: object | undefined, { env_args, env_name }: About): string {
  if (envArgs === undefined && typeof env_args === "string") return env_args;
  return JSON.stringify(envArgs ?? { env_name: typeof env_name === "string" ? env_name : "", type: GYM, env_kwargs: {} });
}

interface AttributeLeaf {
  readonly path: string;
  readonly leaf: StepLeaf;
  readonly index: number;
}

/** Writes the groups `demo_0`, `demo_1` … */
class DemoWriter {
  readonly names: string[] = [];
  /** The names of the demos in each split. */
  readonly splits = new Map<string, string[]>();
  transitions = 0;
  steps = 0;
  readonly #hdf5: Hdf5Writer;
  readonly #losses: Losses;
  readonly #signal: AbortSignal | undefined;
  readonly #stepSpec: StepSpec;
  readonly #leaves: readonly DemoLeaf[];
  readonly #metadataSpec: { readonly [name: string]: StepSpec };
  readonly #attributes: readonly AttributeLeaf[];
  readonly #isLast: number;
  readonly #isTerminal: number;

  /**
   * @throws RldsError SPEC_MISMATCH if the steps lack a required field
   * @throws RldsError UNSUPPORTED if the layout cannot store the reward or the discount, or if data would be lost and the option `strict` is set
   */
  constructor({ data: { stepSpec, metadataSpec }, losses, signal, checkLosses }: FileTask, hdf5: Hdf5Writer) {
    this.#hdf5 = hdf5;
    this.#losses = losses;
    this.#signal = signal;
    this.#stepSpec = stepSpec;
    this.#leaves = demoLeaves(stepSpec, losses);
    this.#metadataSpec = withoutFinalStep(metadataSpec);
    this.#attributes = leavesOf(this.#metadataSpec as StepSpec).flatMap(({ path, leaf }, index) => {
      // The writer counts the transitions itself.
      if (path === "num_samples") return [];
      if (leaf.dtype !== "bytes") return [{ path, leaf, index }];
      losses.add(path, "attributes store only numbers and strings");
      return [];
    });
    const at = (path: string) => leavesOf(stepSpec).findIndex((leaf) => leaf.path === path && leaf.size === 1);
    [this.#isLast, this.#isTerminal] = [at("is_last"), at("is_terminal")];
    addFilmLosses(losses, stepSpec);
    losses.addEmptyGroups(stepSpec, metadataSpec);
    checkLosses();
  }

  async add({ steps, ...metadata }: RldsEpisode<unknown>, episode: number): Promise<void> {
    const row = metadataRow(this.#metadataSpec, withoutFinalStep(metadata), episode);
    const { data, length } = await columnsOf(steps, this.#stepSpec, { episode, signal: this.#signal });
    const flag = (column: number) => data[column]?.[length - 1] === 1;
    const kind = finalStepOf(metadata, flag(this.#isLast));
    const rows = kind === "observation" ? length - 1 : length;
    if (rows <= 0) {
      this.#losses.addEpisode("episodes without transitions", "robomimic stores only transitions");
      return;
    }
    const name = `demo_${this.names.length}`;
    const group = `/data/${name}`;
    for (const path of ["", "/obs", "/next_obs"]) this.#hdf5.group(group + path);
    this.names.push(name);
    for (const split of splitsOf(metadata) ?? ["train"]) {
      const names = this.splits.get(split) ?? [];
      this.splits.set(split, names);
      names.push(name);
    }
    this.transitions += rows;
    this.steps += length;
    const groups = new Set<string>(["obs", "next_obs"]);
    for (const leaf of this.#leaves) this.#write(group, leaf, data[leaf.index] as ColumnData, { rows, kind, groups });
    const dones = new Uint8Array(rows);
    dones[rows - 1] = Number(flag(this.#isTerminal));
    this.#hdf5.dataset(`${group}/dones`, U8, dones, rows);
    this.#hdf5.attribute(group, "num_samples", I64, BigInt64Array.of(BigInt(rows)));
    this.#hdf5.attribute(group, FINAL_STEP, FINAL_STEP_LEAF, [kind]);
    for (const { path, leaf, index } of this.#attributes) this.#attribute(group, path, leaf, row[index] as ColumnData);
  }

  /** Writes a leaf of an episode. @param groups the groups of the demo that already exist, to which new groups are added */
  #write(
    demo: string,
    { leaf, size, path, isObservation, isOutcome }: DemoLeaf,
    data: ColumnData,
    { rows, kind, groups }: { readonly rows: number; readonly kind: FinalStep; readonly groups: Set<string> },
  ): void {
    const put = (name: string, values: ColumnData, count: number) => {
      const keys = name.split("/");
      for (let k = 1; k < keys.length; k++) {
        const group = keys.slice(0, k).join("/");
        if (!groups.has(group)) this.#hdf5.group(`${demo}/${group}`);
        groups.add(group);
      }
      if (leaf.dtype === "string" && (values as readonly string[]).some((text) => text.includes("\0")))
        this.#losses.add(path, "strings of HDF5 end at the first NUL");
      this.#hdf5.dataset(`${demo}/${name}`, leaf, values, count);
    };
    const part = (from: number, to: number) => slicedColumn(data, from * size, to * size);
    // Values that also apply to the final observation have an additional row for it. The states that robomimic itself writes have no such row. If that row of
    // the states contains only zeros, it is left out, because readers fill a missing row with zeros.
    const isLastEmpty = () => (path === STATES || path.startsWith(`${STATES}/`)) && slicedColumn(data, rows * size, (rows + 1) * size).every((value) => !value);
    const count = isObservation || isOutcome || kind === "transition" || isLastEmpty() ? rows : rows + 1;
    put(isObservation ? `obs/${path}` : path, part(0, count), count);
    if (!isObservation) return;
    const next = kind === "observation" ? part(1, rows + 1) : joined(leaf, [part(1, rows), part(rows - 1, rows)], rows);
    put(`next_obs/${path}`, next, rows);
  }

  #attribute(group: string, name: string, leaf: StepLeaf, data: ColumnData): void {
    const bytes = leaf.dtype === "string" ? (data as readonly string[]).reduce((sum, text) => sum + 4 * text.length, 0) : 8 * data.length;
    if (bytes <= MAX_ATTRIBUTE_BYTES) this.#hdf5.attribute(group, name, leaf, data);
    else this.#losses.addEpisode(name, "an attribute of HDF5 has at most 60,000 bytes");
  }
}
