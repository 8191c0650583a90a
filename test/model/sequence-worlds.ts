/** Generates random worlds of sequences: a writer and a twin receive the same steps, appended in every possible way, and the tables are compared by item. */
import { memory } from "../../src/files/memory.ts";
import { bool, f32, f64, i32, prioritized, Replay, shared, u8, uniform } from "../../src/index.ts";
import { remoteWriter } from "../../src/remote/index.ts";
import { broken } from "../support/health.ts";
import { TestRandom } from "../support/random.ts";
import { bytesOf } from "../support/refused.ts";
import { isFinal, type Row, type SequenceRuleOf, seenOf, type TwinItem, TwinLane, type TwinView } from "./twin-sequences.ts";

const spec = {
  id: i32(),
  observation: { seen: f32(2), wide: u8(1100) },
  action: i32(),
  reward: f64(),
  factor: f32(),
  over: bool(),
  hidden: shared("hidden", f32(3)),
};
const ROLES = [
  { discount: false, terminated: false },
  { discount: true, terminated: false },
  { discount: false, terminated: true },
  { discount: true, terminated: true },
] as const;

const stepOf = ({ id, reward, discount, flag }: Row) => ({
  id,
  observation: { seen: [id, -id], wide: new Uint8Array(1100).fill(id & 255) },
  action: 2 * id,
  reward,
  factor: discount,
  over: flag,
  hidden: [id >> 2, 1, 2],
});

/** Returns columns of rows with a leading dimension. With several lanes, the dimensions are time and lane. */
function columnsOf(rows: readonly Row[], lanes = 1): { [name: string]: unknown } {
  const steps = rows.map(stepOf);
  const column = (pickOf: (step: ReturnType<typeof stepOf>) => unknown) => {
    const values = steps.map(pickOf);
    return lanes === 1 ? values : Array.from({ length: values.length / lanes }, (_, t) => values.slice(t * lanes, (t + 1) * lanes));
  };
  const names = ["id", "action", "reward", "factor", "over", "hidden"] as const;
  const observation = { seen: column((step) => step.observation.seen), wide: column((step) => step.observation.wide) };
  return { ...Object.fromEntries(names.map((name) => [name, column((step) => step[name])])), observation };
}

type Way = "append" | "lanes" | "nextStep" | "columns" | "port";

const WAYS: readonly Way[] = ["append", "lanes", "nextStep", "columns", "port"];

function replayOf(seed: number, maxSize: number) {
  const roles = ROLES[seed % 4] as (typeof ROLES)[number];
  const transition = { ...(roles.discount && { discount: "factor" }), ...(roles.terminated && { terminated: "over" }) };
  return { spec, tables: { seq: { maxSize, sampler: seed % 3 === 0 ? uniform() : prioritized(0.7) } }, transition, seed };
}

/** A random world. @throws if the core and the twin differ */
export class SequenceWorld {
  /** The number of sequences compared so far. */
  compared = 0;
  readonly #seed: number;
  readonly #random: TestRandom;
  readonly #rule: SequenceRuleOf;
  readonly #across: boolean;
  readonly #way: Way;
  readonly #lanes: number;
  readonly #maxSize: number;
  readonly #twins: TwinLane[];
  readonly #items: TwinItem[] = [];
  readonly #pending: (Row | undefined)[];
  #id = 0;

  constructor(seed: number) {
    const random = new TestRandom(seed);
    this.#seed = seed;
    this.#random = random;
    const burnIn = random.below(4);
    const learned = 1 + random.below(6);
    const stride = random.below(2) === 0 ? learned : 1 + random.below(learned);
    this.#rule = { length: burnIn + 1 + learned, burnIn, stride };
    this.#way = WAYS[seed % WAYS.length] as Way;
    this.#across = random.below(3) === 0;
    this.#lanes = this.#way === "lanes" || this.#way === "nextStep" ? 2 + random.below(2) : this.#way === "columns" ? 1 + random.below(2) : 1;
    this.#maxSize = 3 + random.below(40);
    this.#twins = Array.from({ length: this.#lanes }, () => new TwinLane(this.#rule, this.#across, (item) => this.#items.push(item)));
    this.#pending = this.#twins.map(() => undefined);
  }

  async run(): Promise<this> {
    const dir = memory();
    const options = replayOf(this.#seed, this.#maxSize);
    const hasJournal = this.#seed % 2 === 0;
    let replay = hasJournal ? await Replay.open({ ...options, dir, durability: "manual", logger: null }) : new Replay({ ...options, logger: null });
    const way = this.#way;
    const { length, burnIn, stride } = this.#rule;
    const sequence = { length, burnIn, ...(stride !== length - burnIn - 1 && { stride }) };
    const rules = {
      items: [{ table: "seq", sequence }] as const,
      across: this.#across,
      autoreset: way === "nextStep" ? ("nextStep" as const) : ("sameStep" as const),
      ...(way !== "append" && { lanes: this.#lanes }),
    };
    let writer: ReturnType<Replay["writer"]> | undefined;
    let remote: Awaited<ReturnType<typeof remoteWriter>> | undefined;
    if (way === "port") {
      const { port1, port2 } = new MessageChannel();
      const { lanes: _, ...accepted } = rules;
      [, remote] = await Promise.all([replay.acceptWriter(port1, accepted as never), remoteWriter(port2, { spec } as never)]);
    } else writer = replay.writer({ name: "w", ...rules } as never) as never;
    for (let act = 0; act < 40; act++) {
      await this.#act((writer ?? remote) as never);
      if (remote !== undefined) await remote.flush();
      if (this.#random.below(3) === 0) this.#compare(replay as never);
      if (act === 25) {
        if (broken(replay as never).length > 0) throw new Error(broken(replay as never).join());
        if (way === "port") continue;
        // A Replay restored from a snapshot, or from a journal after a crash, continues in the same way.
        if (hasJournal) await (replay as unknown as { flush(): Promise<void> }).flush();
        const again = hasJournal
          ? await Replay.open({ dir: dir.crash(), logger: null, durability: "manual" })
          : Replay.restore(bytesOf(replay as never), { logger: null });
        replay.dispose();
        replay = again as never;
        writer = replay.writer({ name: "w", ...rules } as never) as never;
        if (broken(replay as never).length > 0) throw new Error(broken(replay as never).join());
        this.#compare(replay as never);
      }
    }
    if (remote !== undefined) await remote.close();
    else writer?.close();
    for (const twin of this.#twins) twin.close();
    if (broken(replay as never).length > 0) throw new Error(broken(replay as never).join());
    this.#compare(replay as never);
    this.#cover();
    replay.dispose();
    return this;
  }

  #row(end: Row["end"] = "no"): Row {
    const random = this.#random;
    return {
      id: ++this.#id,
      reward: random.next() - 0.5,
      discount: random.next() < 0.1 ? 0 : Math.fround(0.5 + random.next()),
      flag: random.next() < 0.1,
      end,
    };
  }

  /** Appends several steps in the way that this world uses. */
  async #act(writer: {
    append(step: object, ends?: object): Promise<void> | undefined;
    appendColumns(columns: object, options: object): unknown;
    endEpisode(options: object): unknown;
  }) {
    const random = this.#random;
    if (this.#way === "append" || this.#way === "port") {
      const [twin] = this.#twins as [TwinLane];
      const isEnd = twin.isOpen && random.below(5) === 0;
      const row = this.#row(isEnd ? (random.below(2) === 0 ? "terminated" : "truncated") : "no");
      await (isEnd ? writer.endEpisode({ final: stepOf(row), terminated: row.end === "terminated" }) : writer.append(stepOf(row)));
      twin.add(row);
      return;
    }
    const times = this.#way === "columns" ? 1 + random.below(12) : 1;
    const rows: Row[] = [];
    const ends: { terminated: number[]; truncated: number[]; finals: (Row | undefined)[] } = { terminated: [], truncated: [], finals: [] };
    for (let t = 0; t < times; t++) {
      for (let lane = 0; lane < this.#lanes; lane++) {
        const waits = this.#pending[lane];
        const row = this.#row();
        const ended =
          this.#way === "nextStep" && waits !== undefined
            ? undefined
            : random.below(6) === 0
              ? random.below(2) === 0
                ? "terminated"
                : "truncated"
              : undefined;
        rows.push(row);
        ends.terminated.push(Number(ended === "terminated"));
        ends.truncated.push(Number(ended === "truncated"));
        const twin = this.#twins[lane] as TwinLane;
        if (this.#way === "nextStep") {
          this.#pending[lane] = undefined;
          // The final step of a terminated episode exists already, and gets its values now.
          if (waits !== undefined && isFinal(waits)) Object.assign(waits, { ...row, end: "terminated" });
          else twin.add(waits === undefined ? row : { ...row, end: "truncated" });
          if (ended === "terminated") {
            const final: Row = { id: 0, reward: 0, discount: 0, flag: false, end: "terminated" };
            twin.add(final);
            this.#pending[lane] = final;
          } else if (ended === "truncated") this.#pending[lane] = row;
          continue;
        }
        const final = ended === undefined ? undefined : this.#row(ended);
        ends.finals.push(final);
        twin.add(row);
        if (final !== undefined) twin.add(final);
      }
    }
    const { terminated, truncated, finals } = ends;
    if (this.#way === "columns") {
      const own = finals.filter((one) => one !== undefined);
      writer.appendColumns(columnsOf(rows, this.#lanes), { terminated, truncated, ...(own.length > 0 && { final: columnsOf(own) }) });
    } else if (this.#way === "nextStep") writer.append(columnsOf(rows), { terminated, truncated });
    else
      writer.append(columnsOf(rows), {
        terminated,
        truncated,
        ...(finals.some(Boolean) && { final: columnsOf(finals.map((one) => one ?? (rows[0] as Row))) }),
      });
  }

  /** Compares a view of all items with the twin. */
  #compare(replay: Replay<typeof spec, "seq">): void {
    const table = replay.tables.seq;
    const random = this.#random;
    const live = this.#items.slice(-this.#maxSize);
    const where = `seed ${this.#seed}, way ${this.#way}, across ${this.#across}, rule ${JSON.stringify(this.#rule)}`;
    const differ = (what: string, expected: unknown, got: unknown) => {
      throw new Error(`${where}: ${what} must be ${JSON.stringify(expected)}, got ${JSON.stringify(got)}`);
    };
    if (table.size !== live.length) differ("size", live.length, table.size);
    if (live.length === 0) return;
    const roles = ROLES[this.#seed % 4] as TwinView["roles"];
    const view: TwinView = { gamma: random.pick([0, 0.5, 0.9, 1]), n: random.pick([1, 2, 3, 100]), roles };
    const dtype = random.pick(["f32", "f64"] as const);
    const width = random.pick([undefined, this.#rule.length, this.#rule.length + 2]);
    const shown = table.sequences({ gamma: view.gamma, n: view.n, dtype, state: ["hidden"], ...(width !== undefined && { length: width }) });
    const into = random.below(2) === 0 ? { into: shown.batch(live.length) } : {};
    const batch = shown.sample(live.length, { replacement: false, ...into });
    const { data: ids, shape } = batch.id;
    const steps = shape[1] as number;
    const float = (x: number) => (dtype === "f64" ? x : Math.fround(x));
    // A final step whose values are still due is zeros, so items are identified by their first step and their length.
    const keyOf = (first: number, length: number) => `${first} ${length}`;
    const twins = new Map(live.map((item) => [keyOf((item.rows[0] as Row).id, item.rows.length), item]));
    if (twins.size !== live.length) differ("different items", live.length, twins.size);
    for (let i = 0; i < batch.count; i++) {
      const at = i * steps;
      const { length = 0 } = table.explain(batch.keys[i] as number);
      const key = keyOf(ids[at] as number, length);
      const item = twins.get(key) as TwinItem;
      if (item === undefined) differ("an item", [...twins.keys()], key);
      twins.delete(key);
      this.compared++;
      for (let k = 0; k < steps; k++) {
        const got = {
          id: ids[at + k],
          seen: [batch.observation.seen.data[2 * (at + k)], batch.observation.seen.data[2 * (at + k) + 1]],
          wide: batch.observation.wide.data[1100 * (at + k) + 1099],
          action: batch.action.data[at + k],
          reward: batch.reward.data[at + k],
          mask: batch.mask.data[at + k],
          returns: batch.returns.data[at + k],
          discounts: batch.discounts.data[at + k],
          bootstraps: batch.bootstraps.data[at + k],
          learningMask: batch.learningMask.data[at + k],
          isFirst: batch.isFirst.data[at + k],
          isLast: batch.isLast.data[at + k],
          isTerminal: batch.isTerminal.data[at + k],
        };
        const row = item.rows[k];
        const none = { returns: 0, discounts: 0, bootstraps: 0, learningMask: 0, isFirst: 0, isLast: 0, isTerminal: 0 };
        const seen = row === undefined ? none : seenOf(item, k, view);
        const id = row?.id ?? 0;
        const expected = {
          id,
          seen: [id, 0 - id],
          wide: id & 255,
          action: 2 * id,
          reward: row?.reward ?? 0,
          mask: Number(row !== undefined),
          ...seen,
          returns: float(seen.returns),
          discounts: float(seen.discounts),
        };
        if (JSON.stringify(got) !== JSON.stringify(expected)) differ(`step ${k} of ${JSON.stringify(item)} in ${JSON.stringify(view)}`, expected, got);
      }
      const hidden = [...batch.hidden.data.slice(3 * i, 3 * i + 3)];
      if (String(hidden) !== String([(item.rows[0] as Row).id >> 2, 1, 2])) differ("the state of the first step", item.rows[0], hidden);
    }
  }

  /** Checks that each step of each episode is a learning step of exactly one item, or of several if strides overlap. */
  #cover(): void {
    const learned = new Map<number, number>();
    const view: TwinView = { gamma: 1, n: 1, roles: ROLES[0] };
    for (const item of this.#items)
      item.rows.forEach((row, k) => {
        if (seenOf(item, k, view).learningMask === 1) learned.set(row.id, (learned.get(row.id) ?? 0) + 1);
      });
    const isTight = this.#rule.stride === this.#rule.length - this.#rule.burnIn - 1;
    for (const { rows } of this.#twins)
      rows.forEach((row, i) => {
        // The last step is only the bootstrap.
        if (isFinal(row) || i === rows.length - 1) return;
        const times = learned.get(row.id) ?? 0;
        if (times === 0 || (isTight && times > 1)) throw new Error(`seed ${this.#seed}: step ${row.id} is learned ${times} times`);
      });
  }
}
