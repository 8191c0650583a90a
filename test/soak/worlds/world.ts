/** Runs a Replay and its twin side by side, using only the public API. The twin follows README, the guide and the tables of test/model. */
import type { Spec, Table } from "../../../src/index.ts";
import { isRandom, TwinTable } from "../../model/twin-table.ts";
import { broken } from "../../support/health.ts";
import { TestRandom } from "../../support/random.ts";
import { type Batch, Draws, type Pair, same } from "./draws.ts";
import { Epochs } from "./epochs.ts";
import { Loans } from "./loans.ts";
import { Loops } from "./loops.ts";
import type { Operation, Plan } from "./plan.ts";
import { mayRefuse, type Reading, type RefusedError, readingOf } from "./reading.ts";
import { Restarts, sameSnapshot } from "./restarts.ts";
import { Steps } from "./steps.ts";
import { type AnyReplay, mustThrow, PRIORITIES, Writers } from "./writers.ts";

type AnyTable = Table<Spec>;

export class World {
  readonly #plan: Plan;
  readonly #pairs: readonly Pair[];
  readonly #draws: Draws;
  readonly #loans = new Loans();
  readonly #loops: Loops;
  readonly #epochs = new Epochs();
  readonly #writers: Writers;
  readonly #restarts: Restarts;
  readonly #into = new Map<string, unknown>();
  #replay: AnyReplay;
  #random = new TestRandom(0);

  private constructor(plan: Plan, restarts: Restarts, replay: AnyReplay) {
    this.#plan = plan;
    const steps = new Steps(plan.spec);
    this.#draws = new Draws(steps);
    this.#loops = new Loops(this.#draws, this.#loans);
    this.#restarts = restarts;
    this.#replay = replay;
    this.#pairs = plan.tables.map((table) => ({
      plan: table,
      keys: [],
      twin: new TwinTable(table, (key) => this.#table(table.name).explain(key).state === "gone"),
    }));
    this.#writers = new Writers(plan, replay, this.#pairs, steps, this.#draws);
  }

  static async of(plan: Plan): Promise<World> {
    const restarts = new Restarts(plan);
    return new World(plan, restarts, await restarts.begin());
  }

  /** The number of calls that failed for lack of memory. */
  refused = 0;

  /** @throws Error if the two differ */
  async run(operation: Operation): Promise<void> {
    await this.#tried(() => this.#run(operation));
    await this.#tried(() => this.#loops.settle());
    this.#loans.check();
    this.#writers.compare();
    this.#compare(this.#replay);
    same("prefetch that draws nothing ahead is told of", this.#replay.stats().warnings.unusedPrefetch > 0, this.#loops.wasted);
  }

  /** Runs a call that may fail for lack of memory, which the twin cannot predict. A failed call must not have changed anything. */
  async #tried(work: () => void | Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (this.#plan.spareBytes === undefined || (error as { code?: string }).code !== "OUT_OF_MEMORY") throw error;
      this.refused++;
    }
  }

  #run({ kind, seed }: Operation): void | Promise<void> {
    const random = new TestRandom(seed);
    this.#random = random;
    const pair = random.pick(this.#pairs);
    const { plan, twin } = pair;
    switch (kind) {
      case "append":
      case "staged":
        return this.#writers.append(random, kind === "staged");
      case "ends":
        return this.#writers.ends(random);
      case "block":
        return this.#writers.block(random);
      case "create":
        return this.#writers.create(random, pair);
      case "end":
        return this.#writers.end(random);
      case "close":
        return this.#writers.close(random);
      case "view":
        return this.#draws.view(pair, this.#table(plan.name), random);
      case "sample":
      case "distinct":
      case "into":
        return this.#sample(pair, kind);
      case "lend":
        return random.below(2) === 0 ? this.#sample(pair, kind) : this.#loops.lend(plan.name, random);
      case "release":
        return this.#release();
      case "loop":
        return this.#loops.run(pair, this.#table(plan.name), random);
      case "epoch":
        return this.#epochs.run(pair, this.#table(plan.name), random);
      case "update":
        return this.#update(pair);
      case "write":
        return this.#write(pair);
      case "delete":
        return this.#delete(pair);
      case "restore":
        return this.#restore();
      case "clear":
        this.#table(plan.name).clear();
        this.#epochs.clear(plan.name);
        return twin.clear();
    }
  }

  dispose(): void {
    this.#loops.drop();
    this.#replay.dispose();
  }

  #table(name: string): AnyTable {
    return this.#replay.table(name) as AnyTable;
  }

  #sample(pair: Pair, kind: "sample" | "distinct" | "into" | "lend"): void {
    const { plan, twin } = pair;
    const table = this.#table(plan.name);
    const single = twin.pending.length > 0 && isRandom(plan.remover);
    const distinct = kind === "distinct";
    const most = single ? 1 : 1 + this.#random.below(2 * twin.live.length + 2);
    // Sometimes uses the batch size of an open loop over the table, so that the draw can reuse batches that the loop releases.
    const alike = single || kind !== "lend" ? undefined : this.#random.pick([undefined, this.#loops.batchSize(plan.name)]);
    const n = kind === "into" ? 4 : (alike ?? most);
    if (kind === "into" && single) return;
    const length = kind === "into" ? 8 : undefined;
    // Waiting items are inserted between such draws, or after them, depending on the remover of the table (POLICY). The twin leaves them out.
    const waits = twin.pending.length > 0;
    const stratified = isRandom(plan.sampler) && !distinct && plan.maxTimesSampled === 0;
    const chosen =
      alike !== undefined ? {} : length === undefined ? readingOf(this.#random, { among: !waits, stratified: stratified && !waits }) : { cross: true, length };
    // An item with an unknown key is identified by its first step.
    const reading: Reading = twin.live.some(({ key }) => key < 0) ? { ...chosen, offset: "start" } : chosen;
    const options = { replacement: !distinct, ...reading };
    let [batch, into]: unknown[] = [];
    try {
      into = kind === "into" ? (this.#into.get(plan.name) ?? table.batch(n, options as never)) : undefined;
      batch = table.sample(n, { ...options, ...(into !== undefined && { into }), ...(kind === "lend" && { recycle: true }) } as never);
    } catch (error) {
      const mixed = reading.columns === undefined && this.#draws.own.has(plan.name);
      if ((mixed && (error as RefusedError).code === "SPEC_MISMATCH") || mayRefuse(reading, twin, error as RefusedError)) return;
      throw error;
    }
    this.#draws.compare(pair, batch as Batch, { distinct, n, reading });
    if (kind === "lend") this.#loans.hold(batch as never, plan.name);
    if (kind !== "into") return;
    same("the batch that is refilled", into === undefined || batch === into, true);
    this.#into.set(plan.name, batch);
  }

  #someKeys({ twin, keys }: Pair): number[] {
    const known = [...twin.live, ...twin.pending].map(({ key }) => key).filter((key) => key > 0);
    return Array.from({ length: 1 + this.#random.below(4) }, () => {
      const dice = this.#random.below(8);
      if (dice < 6 && known.length > 0) return this.#random.pick(known);
      // A key that is not in the table and cannot belong to an item with an unknown key.
      const gone = keys.filter((key) => !known.includes(key) && this.#pairs.every((pair) => pair.twin.live.every((item) => item.key > 0)));
      return dice === 6 && gone.length > 0 ? this.#random.pick(gone) : 0;
    });
  }

  #update(pair: Pair): void {
    const keys = this.#someKeys(pair);
    const priorities = keys.map(() => this.#random.pick(PRIORITIES));
    if (this.#random.below(8) === 0) mustThrow(undefined, () => this.#table(pair.plan.name).updatePriorities([...keys, 0.5], [...priorities, 1]));
    const found = keys.filter((key, i) => pair.twin.update(key, priorities[i] as number)).length;
    same("updated", this.#table(pair.plan.name).updatePriorities(keys, priorities), found);
  }

  /** Writes other values to the steps of several items, which every item with these steps then shows, and then restores the values. */
  #write(pair: Pair): void {
    const table = this.#table(pair.plan.name);
    const keys = this.#someKeys(pair).filter((key) => pair.twin.live.some((item) => item.key === key));
    if (pair.plan.own || keys.length === 0) return;
    type Shown = { readonly count: number; readonly steps: { readonly reward: { readonly data: Float32Array } }; readonly lengths: Uint32Array };
    const shown = () => table.get(keys, {}) as unknown as Shown;
    const batch = shown();
    same("items of keys", batch.count, keys.length);
    const steps = batch.lengths.reduce((sum, length) => sum + length, 0);
    const before = batch.steps.reward.data.slice();
    // All values for a step are equal, so it does not matter which is written last.
    const other = before.map((value) => value + 1000);
    same("steps that were written", JSON.stringify(table.writeSteps(batch, { reward: other })), JSON.stringify({ written: steps, skipped: 0 }));
    const after = shown();
    const width = before.length / keys.length;
    for (let i = 0; i < before.length; i++)
      same("a value that was written", after.steps.reward.data[i], i % width < (batch.lengths[Math.floor(i / width)] as number) ? other[i] : 0);
    table.writeSteps(batch, { reward: before });
  }

  #delete(pair: Pair): void {
    const keys = this.#someKeys(pair);
    const found = keys.filter((key) => pair.twin.delete(key)).length;
    same("deleted", this.#table(pair.plan.name).delete(keys), found);
    pair.twin.settle();
  }

  /** Releases a batch, or releases an already released batch again. */
  #release(): void {
    const { lent, over } = this.#loans;
    const again = over.length > 0 && (lent.length === 0 || this.#random.below(2) === 0);
    if (lent.length + over.length === 0) return;
    const loan = this.#random.pick(again ? over : lent);
    if (again && loan.table !== undefined && this.#random.below(3) === 0) {
      mustThrow("SPEC_MISMATCH", () => this.#table(loan.table as string).sample(1, { into: loan.batch as never }));
      return;
    }
    if (this.#random.below(2) === 0) loan.batch.release();
    else loan.batch[Symbol.dispose]();
    this.#loans.end(loan);
  }

  /** Compares a restored snapshot and leaves it, or continues with the Replay from a snapshot or its directory. Loops and episodes may be open. */
  async #restore(): Promise<void> {
    if (this.#random.below(3) === 0) {
      const restored = sameSnapshot(this.#replay, { writers: "keep" }, false);
      this.#compare(restored);
      restored.dispose();
      return;
    }
    this.#loops.drop();
    const writers = this.#random.pick(["keep", "keep", "close"] as const);
    this.#replay = await this.#restarts.again(this.#replay, writers, this.#random);
    this.#into.clear();
    this.#writers.adopt(this.#replay, writers, this.#random);
  }

  #compare(replay: AnyReplay): void {
    const wrong = broken(replay);
    if (wrong.length > 0) throw new Error(`the core's own check says ${wrong.join(", ")}`);
    for (const { plan, twin } of this.#pairs) {
      const table = replay.table(plan.name);
      const { size, steps, pending, inserts, samples } = table.stats();
      same(
        `${plan.name}: size, steps, pending, inserts, samples`,
        [size, steps, pending, inserts, samples].join(),
        [twin.live.length, twin.steps, twin.pending.length, twin.inserts, twin.samples].join(),
      );
      for (const item of [...twin.live, ...twin.pending]) {
        if (item.key <= 0) continue;
        const { state, ...seen } = table.explain(item.key) as { state: string; length?: number; priority?: number; timesSampled?: number };
        const live = twin.live.includes(item);
        same(
          `${plan.name}: key ${item.key}`,
          [state, seen.length, seen.priority, seen.timesSampled].join(),
          [live ? "live" : "waiting", item.length, item.priority, item.timesSampled].join(),
        );
      }
    }
  }
}
