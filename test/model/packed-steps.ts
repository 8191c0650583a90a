/** Generates steps of a spec with packed leaves: for each name, the frames of a lane are consecutive, and stacks show the newest frames. */
import type { Spec } from "../../src/index.ts";
import { DTYPES, type Dtype, isFloat } from "../../src/schema/dtype.ts";
import type { RowLeaf } from "../../src/schema/leaf.ts";
import { leavesOf } from "../../src/schema/spec.ts";
import { Pictures } from "../support/pictures.ts";
import type { TestRandom } from "../support/random.ts";

/** The values of a leaf. Those of a step are adjacent. */
type Values = (number | bigint | string)[];

interface LaneFrames {
  readonly pictures: Pictures;
  /** The newest frames as bytes from which elements are computed, in chronological order. */
  frames: Uint8Array[];
  /** The step for which the frames were generated. */
  step: number;
}

/** The number of frames kept per lane and name: enough for the largest stack and one frame after it. */
const RECENT = 6;

export class PackedSteps {
  readonly #leaves: ReturnType<typeof leavesOf>;
  readonly #lanes: number;
  readonly #random: TestRandom;
  /** The frames of each lane, by name. */
  readonly #frames: Map<string, LaneFrames>[];
  #id = 1;

  constructor(spec: Spec, lanes: number, random: TestRandom) {
    this.#leaves = leavesOf(spec);
    this.#lanes = lanes;
    this.#random = random;
    this.#frames = Array.from({ length: lanes }, () => new Map());
  }

  /** Returns a step. With several lanes, returns a step for each lane. */
  step(): object {
    return this.#build(this.#columns(1), this.#lanes === 1);
  }

  /** Returns steps as columns. With several lanes, their order is time by time. */
  block(length: number): object {
    return this.#build(this.#columns(length), false);
  }

  /** Returns `count` final steps of any lanes. */
  finals(count: number, asStep: boolean): object {
    const columns = this.#leaves.map(() => [] as Values);
    for (let k = 0; k < count; k++) this.#add(columns, this.#random.below(this.#lanes));
    return this.#build(columns, asStep && this.#lanes === 1);
  }

  #columns(length: number): Values[] {
    const columns = this.#leaves.map(() => [] as Values);
    for (let t = 0; t < length; t++) for (let lane = 0; lane < this.#lanes; lane++) this.#add(columns, lane);
    return columns;
  }

  #build(columns: readonly Values[], asStep: boolean): object {
    return Object.fromEntries(
      this.#leaves.map(({ path, leaf, shape }, i) => {
        const values = columns[i] as Values;
        if (asStep && shape.length === 0) return [path, leaf.dtype === "bool" ? values[0] === 1 : values[0]];
        return [path, leaf.dtype === "string" ? values : Reflect.construct(DTYPES[leaf.dtype as Dtype].array, [values])];
      }),
    );
  }

  /** Adds one step of a lane. Sometimes its frames differ from those of the previous step. */
  #add(columns: readonly Values[], lane: number): void {
    const byName = this.#frames[lane] as Map<string, LaneFrames>;
    for (const { leaf, size } of this.#leaves) {
      if (leaf.shared === undefined) continue;
      const known = byName.get(leaf.shared);
      // Leaves with the same name in a step show the same frames.
      if (known?.step === this.#id) continue;
      const each = size / (leaf.stack ?? 1);
      const made = known ?? { pictures: new Pictures(each, leaf.shape.at(-1) ?? each, this.#random), frames: [new Uint8Array(each)], step: 0 };
      if (this.#random.below(12) === 0) made.frames = [made.pictures.next()];
      made.frames = [...made.frames, made.pictures.next()].slice(-RECENT);
      made.step = this.#id;
      byName.set(leaf.shared, made);
    }
    for (const [i, { leaf, size, path }] of this.#leaves.entries()) {
      const values = columns[i] as Values;
      if (leaf.shared === undefined) {
        for (let k = 0; k < size; k++) values.push(elementOf(leaf, this.#random.below(path === "reward" ? 20 : 256)));
        continue;
      }
      const { frames } = byName.get(leaf.shared) as LaneFrames;
      const stack = leaf.stack ?? 1;
      // `next…` is one frame ahead of its sibling.
      const end = path.startsWith("next") ? frames.length : Math.max(frames.length - 1, 1);
      for (let f = 0; f < stack; f++) for (const byte of frames[Math.max(end - stack + f, 0)] as Uint8Array) values.push(elementOf(leaf, byte));
    }
    this.#id++;
  }
}

/** Returns the element that encodes a byte. */
function elementOf({ dtype }: RowLeaf, byte: number): number | bigint | string {
  if (dtype === "string") return "né€𝄞-".slice(0, byte % 6 === 4 ? 3 : byte % 6).repeat(1 + (byte >> 6));
  if (dtype === "bool") return byte & 1;
  if (dtype === "i64" || dtype === "u64") return BigInt(byte) << 23n;
  if (dtype === "i8") return byte - 128;
  return isFloat(dtype) ? byte / 8 : byte;
}
