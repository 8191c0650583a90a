/** Models episodes that end with a final observation naively: the items that the rules of a writer create, as the numbers of their steps. */
import { expect } from "vitest";
import { f32, i32, Replay, type RestoreOptions, type Spec, type TableOptions } from "../../../src/index.ts";
import type { Writer } from "../../../src/tables/writer.ts";
import { broken } from "../../support/health.ts";
import type { TestRandom } from "../../support/random.ts";

/** The specs. `id` numbers every appended or final step; 0 is a final step of zeros. Image and text-like leaves cover storage outside rows. */
export const SPECS: { readonly [name: string]: Spec } = {
  narrow: { id: i32(), observation: f32(2), action: i32(), reward: f32() },
  wide: { id: i32(), observation: f32(300), action: i32(), reward: f32() },
};

type Any = Replay<Spec, string>;

interface Lane {
  /** The numbers of the steps in the open episode. */
  open: number[];
  /** In nextStep mode: how the episode ended if its final step is the next step. If it terminated, only the value of the final step is still due. */
  due: "no" | "truncated" | "terminated";
}

export interface Options {
  readonly spec: Spec;
  readonly lanes: number;
  readonly autoreset: "nextStep" | "sameStep" | "disabled";
  readonly rules: readonly { readonly nStep?: number; readonly length?: number; readonly stride?: number }[];
  readonly table?: Partial<TableOptions>;
}

export class TwinEnds {
  replay: Any;
  writer: Writer<Spec, string, boolean>;
  readonly options: Options;
  /** The numbers of each item's steps, by table, in order of creation. */
  readonly items: number[][][];
  /** Final steps by number, and whether they terminate. */
  readonly finals = new Map<number, boolean>();
  readonly #lanes: Lane[];
  readonly #random: TestRandom;
  #last = 0;

  constructor(options: Options, random: TestRandom) {
    this.options = options;
    this.#random = random;
    const { spec, lanes, autoreset, rules, table } = options;
    const tables = Object.fromEntries(rules.map((_, k) => [`t${k}`, { maxSize: 5000, ...table }]));
    this.replay = new Replay({ spec, tables }) as Any;
    this.writer = this.replay.writer({ lanes, autoreset, items: rules.map((rule, k) => ({ table: `t${k}`, ...rule })) } as never) as never;
    this.items = rules.map(() => []);
    this.#lanes = Array.from({ length: lanes }, () => ({ open: [], due: "no" }));
  }

  /** Appends `steps` steps of every lane as one block in columns. */
  block(steps: number, rate: number): void {
    const { lanes } = this.options;
    const rows = steps * lanes;
    const ids = Array.from({ length: rows }, () => this.#next());
    const how = this.#ends(rows, rate);
    const finals = this.#finals(how);
    for (let r = 0; r < rows; r++) this.#step(r % lanes, ids[r] as number, how[r] as string, finals[r] as number);
    const ended = finals.filter((_, r) => how[r] !== "no");
    const flags = {
      terminated: how.map((one) => one === "terminated"),
      truncated: how.map((one) => one !== "no" && this.#random.below(2) + Number(one === "truncated") > 0),
    };
    this.writer.appendColumns(this.#columns(ids, lanes === 1 ? [steps] : [steps, lanes]) as never, { ...flags, ...this.#given(ended) });
  }

  /** Appends one step of every lane. */
  append(rate: number): void {
    const { lanes } = this.options;
    const ids = Array.from({ length: lanes }, () => this.#next());
    // With a single lane, only a block can state that the final step comes next.
    const how = this.#ends(lanes, lanes === 1 && this.options.autoreset === "nextStep" ? 0 : rate);
    const finals = this.#finals(how);
    for (let lane = 0; lane < lanes; lane++) this.#step(lane, ids[lane] as number, how[lane] as string, finals[lane] as number);
    if (lanes > 1) {
      const flags = { terminated: how.map((one) => one === "terminated"), truncated: how.map((one) => one === "truncated") };
      const ends = how.every((one) => one === "no") && this.#random.below(2) === 0 ? undefined : { ...flags, ...this.#given(finals) };
      this.writer.append(this.#columns(ids, [lanes]) as never, ends);
      return;
    }
    this.writer.append(this.#stepOf(ids[0] as number) as never);
    if (how[0] === "no") return;
    const terminated = how[0] === "terminated";
    if (finals[0] === 0) this.writer.endEpisode({ terminated });
    else this.writer.endEpisode({ terminated, final: { id: finals[0], observation: this.#stepOf(finals[0] as number).observation } as never });
  }

  /** Continues from a snapshot. */
  restore(options?: RestoreOptions): void {
    this.replay = Replay.restore<Spec, string>(this.replay.snapshot() as never, options) as Any;
    this.writer = this.replay.writers[0] as never;
  }

  close(): void {
    for (const lane of this.#lanes) {
      this.options.rules.forEach(({ nStep = 0 }, k) => {
        for (let length = Math.min(nStep, lane.open.length); length > 1; length--) this.#make(k, lane.open, length);
      });
    }
    this.writer.close();
  }

  /** Compares every existing item with the twin's item. */
  compare(): void {
    expect(broken(this.replay)).toEqual([]);
    this.items.forEach((wanted, k) => {
      const { size } = this.replay.table(`t${k}`);
      expect(size).toBe(wanted.length);
      if (size === 0) return;
      const { steps, lengths, info } = this.replay.table(`t${k}`).sample(size, { replacement: false }) as never as {
        steps: { id: { data: Int32Array; shape: number[] }; observation: { data: Float32Array; shape: number[] } };
        lengths: Uint32Array;
        info: { keys: Float64Array };
      };
      const width = steps.id.shape[1] as number;
      const each = steps.observation.shape[2] as number;
      const order = [...info.keys.keys()].sort((a, b) => (info.keys[a] as number) - (info.keys[b] as number));
      expect(order.map((i) => [...steps.id.data.subarray(i * width, i * width + (lengths[i] as number))])).toEqual(
        wanted.map((item) => item.map((id) => Math.max(id, 0))),
      );
      expect(steps.observation.data.filter((_, i) => i % each === each - 1)).toEqual(Float32Array.from(steps.id.data));
    });
  }

  /** Creates the items of n-step rules. Each step, except those of open episodes, begins exactly one item, which has n steps or ends with the final step. */
  #step(lane: number, id: number, how: string, final: number): void {
    const at = this.#lanes[lane] as Lane;
    if (at.due === "terminated") {
      // The items exist already, with zeros instead of the final step.
      this.finals.set(id, true);
      for (const items of this.items) for (const item of items) if (item.at(-1) === this.#placeholder(lane)) item[item.length - 1] = id;
      at.due = "no";
      return;
    }
    at.open.push(id);
    if (at.due !== "no") {
      this.#finish(at, id, false);
      at.due = "no";
      return;
    }
    this.options.rules.forEach(({ nStep = 0, length = nStep + 1, stride = 1 }, k) => {
      if (at.open.length >= length && (at.open.length - length) % stride === 0) this.#make(k, at.open, length);
    });
    if (how === "no") return;
    if (this.options.autoreset === "nextStep") {
      at.due = how as "truncated";
      if (how !== "terminated") return;
      at.open.push(this.#placeholder(lane));
      this.#finish(at, this.#placeholder(lane), true);
      return;
    }
    at.open.push(final);
    this.#finish(at, final, how === "terminated");
  }

  /** Replaces a final step whose value is still due. */
  #placeholder(lane: number): number {
    return -1 - lane;
  }

  #finish(lane: Lane, final: number, terminated: boolean): void {
    const { open } = lane;
    if (final >= 0) this.finals.set(final, terminated);
    this.options.rules.forEach(({ nStep, length = 0, stride = 1 }, k) => {
      if (nStep === undefined) {
        if (length > 1 && open.length >= length && (open.length - length) % stride === 0) this.#make(k, open, length);
        return;
      }
      for (let rows = Math.min(nStep + 1, open.length); rows > 1; rows--) this.#make(k, open, rows);
    });
    lane.open = [];
  }

  #make(k: number, open: readonly number[], length: number): void {
    (this.items[k] as number[][]).push(open.slice(open.length - length));
  }

  /** Chooses how each of several rows ends its episode. A row whose episode is about to get its final step does not end it. */
  #ends(rows: number, rate: number): string[] {
    const { lanes, autoreset } = this.options;
    const how: string[] = [];
    for (let r = 0; r < rows; r++) {
      const due = autoreset === "nextStep" && (r < lanes ? (this.#lanes[r] as Lane).due : how[r - lanes]) !== "no";
      how.push(due || this.#random.next() >= rate ? "no" : this.#random.pick(["truncated", "terminated"]));
    }
    return how;
  }

  /** Chooses numbers of final steps: zeros in all of them, or in none if some are truncated. */
  #finals(how: readonly string[]): number[] {
    const zeros = this.options.autoreset === "nextStep" || (!how.includes("truncated") && this.#random.below(2) === 0);
    return how.map((one) => (one === "no" || zeros ? 0 : this.#next()));
  }

  #given(finals: readonly number[]): object {
    if (finals.every((id) => id === 0)) return {};
    const observation = finals.map((id) => this.#stepOf(id).observation);
    return { final: { id: finals, observation: this.#random.below(2) === 0 ? observation : observation.flatMap((one) => [...one]) } };
  }

  #stepOf(id: number) {
    const each = this.#size();
    return { id, observation: new Float32Array(each).fill(id), action: id % 3, reward: id / 2 };
  }

  #columns(ids: readonly number[], lead: readonly number[]): object {
    const each = this.#size();
    const observation = new Float32Array(ids.length * each);
    ids.forEach((id, i) => {
      observation.fill(id, i * each, (i + 1) * each);
    });
    expect(lead.reduce((a, b) => a * b, 1)).toBe(ids.length);
    return { id: Int32Array.from(ids), observation, action: Int32Array.from(ids, (id) => id % 3), reward: Float32Array.from(ids, (id) => id / 2) };
  }

  #size(): number {
    return (this.options.spec as unknown as { observation: { shape: readonly number[] } }).observation.shape[0] as number;
  }

  #next(): number {
    this.#last += 1;
    return this.#last;
  }
}
