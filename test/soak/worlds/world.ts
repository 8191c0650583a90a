/** A Replay and its twin side by side, by the public API alone; what the twin knows is what README, guide and the tables of test/model say. */
import { Replay, type Spec, type Table, type Writer } from "../../../src/index.ts";
import { isRandom, TwinTable } from "../../model/twin-table.ts";
import { broken } from "../../support/health.ts";
import { TestRandom } from "../../support/random.ts";
import { type Batch, Draws, type Pair, same } from "./draws.ts";
import type { Operation, Plan, PlannedTable, PlannedWriter } from "./plan.ts";
import { type End, mayRefuse, OWN, type Reading, type RefusedError, readingOf } from "./reading.ts";
import { Steps } from "./steps.ts";

const PRIORITIES = [0, 0, 0.25, 1, 1, 1, 2, 5, 1000];

/** A lane's steps: numbers that follow each other, and the episode of each. */
interface Lane {
  next: number;
  /** Of the window, the oldest first. */
  readonly episodes: number[];
  episodeSteps: number;
  episode: number;
  /** Whether the newest step is a final one, which is at hand until the next comes. */
  ended: boolean;
}

type AnyTable = Table<Spec>;
type AnyWriter = Writer<Spec, string, boolean>;

export class World {
  readonly #plan: Plan;
  readonly #steps: Steps;
  readonly #pairs: readonly Pair[];
  readonly #lanes: readonly (readonly Lane[])[];
  #replay: Replay<Spec, string>;
  /** The options of each writer; every other one has a name. */
  readonly #asked: readonly { readonly name?: string }[];
  #writers: readonly AnyWriter[];
  #random = new TestRandom(0);
  #episodes = 0;
  readonly #into = new Map<string, unknown>();
  readonly #draws: Draws;

  constructor(plan: Plan) {
    this.#plan = plan;
    this.#steps = new Steps(plan.spec);
    this.#draws = new Draws(this.#steps);
    const tables = plan.tables.map(({ name, sampler, remover, maxSize, maxPending, maxTimesSampled, maxSteps, limiter }) => {
      const limits = { ...(maxTimesSampled > 0 && { maxTimesSampled }), ...(Number.isFinite(maxSteps) && { maxSteps }) };
      return [name, { sampler, remover, maxSize, maxPending, rateLimiter: limiter, ...limits }] as const;
    });
    const options = {
      spec: plan.spec as Spec,
      tables: Object.fromEntries(tables),
      seed: plan.seed,
      logger: null,
      transition: { observation: "id", action: "id" },
    };
    const maxBytes = plan.spareBytes === undefined ? undefined : Replay.plan(options).bytes + plan.spareBytes;
    this.#replay = new Replay({ ...options, ...(maxBytes !== undefined && { maxBytes }) }) as Replay<Spec, string>;
    this.#asked = plan.writers.map(({ lanes, keep, across }, w) => {
      const items = plan.tables.flatMap(({ name, rule }) => (rule?.writer === w ? [{ table: name, length: rule.length, stride: rule.stride }] : []));
      return { lanes, keep, across, items, ...(w % 2 === 0 && { name: `writer ${w}` }) };
    });
    this.#writers = this.#asked.map((options) => this.#replay.writer(options as object) as unknown as AnyWriter);
    this.#pairs = plan.tables.map((table) => ({
      plan: table,
      keys: [],
      twin: new TwinTable(table, (key) => this.#table(table.name).explain(key).state === "gone"),
    }));
    this.#lanes = plan.writers.map(({ lanes }, w) =>
      Array.from({ length: lanes }, (_, i) => ({ next: (w * 8 + i + 1) * 100_000, episodes: [], episodeSteps: 0, episode: this.#episodes++, ended: false })),
    );
  }

  /** Calls that memory refused. */
  refused = 0;

  /** @throws Error where the two differ */
  run(operation: Operation): void {
    try {
      this.#run(operation);
    } catch (error) {
      // The twin does not know how much memory there is: what is refused has changed nothing.
      if (this.#plan.spareBytes === undefined || (error as { code?: string }).code !== "OUT_OF_MEMORY") throw error;
      this.refused++;
    }
    this.#compare();
  }

  #run({ kind, seed }: Operation): void {
    this.#random = new TestRandom(seed);
    const { plan, twin, keys } = this.#random.pick(this.#pairs);
    const pair = { plan, twin, keys };
    if (kind === "append" || kind === "staged") this.#append(kind === "staged");
    else if (kind === "block") this.#block();
    else if (kind === "create") this.#create(pair);
    else if (kind === "end") this.#end();
    else if (kind === "view") this.#draws.view(pair, this.#table(plan.name), this.#random);
    else if (kind === "sample" || kind === "distinct" || kind === "into") this.#sample(pair, kind);
    else if (kind === "update") this.#update(pair);
    else if (kind === "delete") this.#delete(pair);
    else if (kind === "clear") {
      this.#table(plan.name).clear();
      twin.clear();
    } else this.#restore();
  }

  dispose(): void {
    this.#replay.dispose();
  }

  #table(name: string): AnyTable {
    return this.#replay.table(name) as AnyTable;
  }

  #writer(): { writer: AnyWriter; w: number; plan: PlannedWriter; lanes: readonly Lane[] } {
    const w = this.#random.below(this.#writers.length);
    return { writer: this.#writers[w] as AnyWriter, w, plan: this.#plan.writers[w] as PlannedWriter, lanes: this.#lanes[w] as readonly Lane[] };
  }

  #append(staged: boolean): void {
    const { writer, w, plan, lanes } = this.#writer();
    const ids = lanes.map(({ next }) => next);
    const refused = this.#ruled(w).some(({ plan: { rule }, twin }) => lanes.length === 1 && due(lanes[0] as Lane, rule) && !accepts(twin, this.#pairs));
    const give = () => {
      if (!staged) return writer.append(this.#steps.of(ids, lanes.length > 1) as never);
      this.#steps.into(writer.staged, ids);
      writer.append();
    };
    if (refused) {
      mustThrow("RATE_LIMITED", give);
      return;
    }
    give();
    for (const lane of lanes) step(lane, plan);
    for (const pair of this.#ruled(w)) this.#made(w, pair);
  }

  /** Where nothing waits: what a block would have refused is another story. */
  #block(): void {
    const { writer, w, plan, lanes } = this.#writer();
    const [lane] = lanes as [Lane];
    if (lanes.length > 1 || this.#ruled(w).some(({ plan: { limiter } }) => limiter.maxDiff < Number.MAX_VALUE)) return;
    if (this.#ruled(w).some(({ plan: { remover } }) => isRandom(remover))) return;
    const n = 1 + this.#random.below(12);
    writer.appendColumns(
      this.#steps.of(
        Array.from({ length: n }, (_, i) => lane.next + i),
        true,
      ) as never,
    );
    for (let i = 0; i < n; i++) {
      step(lane, plan);
      for (const pair of this.#ruled(w)) this.#made(w, pair, i < n - 1);
    }
  }

  #ruled(w: number): readonly Pair[] {
    return this.#pairs.filter(({ plan }) => plan.rule?.writer === w);
  }

  /** What a rule made of the newest step. @param unseen whether later items of the same call hide its key */
  #made(w: number, pair: Pair, unseen = false): void {
    const { rule, name } = pair.plan;
    const lanes = (this.#lanes[w] as readonly Lane[]).filter((lane) => due({ ...lane, episodeSteps: lane.episodeSteps - 1 }, rule));
    for (const [i, lane] of lanes.entries()) {
      const hidden = unseen || i < lanes.length - 1;
      this.#insert(pair, lane, (rule as { length: number }).length, 1, hidden ? -lane.next : (this.#writers[w] as AnyWriter).lastKey(name));
    }
  }

  #insert(pair: Pair, lane: Lane, length: number, priority: number, key: number): "in" | "waits" | "refused" {
    const episodes = [...new Set(lane.episodes.slice(-length))];
    if (key > 0) pair.keys.push(key);
    if (length === 1) this.#draws.singles.add(pair.plan.name);
    return pair.twin.insert({ key, first: lane.next - length, length, episodes, priority, touch: 0, timesSampled: 0 });
  }

  #create(pair: Pair): void {
    const { writer, lanes } = this.#writer();
    const { twin, plan } = pair;
    const lane = this.#random.below(lanes.length);
    const from = lanes[lane] as Lane;
    const length = 1 + this.#random.below(Math.max(from.episodes.length, 1));
    const priority = this.#random.pick(PRIORITIES);
    const own = this.#random.below(6) === 0;
    const give = () => writer.createItem(plan.name, { length, priority, lane, ...(own && { columns: OWN }) } as never)?.catch(() => undefined);
    const impossible = from.episodes.length === 0 || this.#isFinal(from.next - length);
    if (impossible || !accepts(twin, this.#pairs)) {
      mustThrow(impossible ? undefined : "RATE_LIMITED", give);
      return;
    }
    const promise = give();
    const state = this.#insert(pair, from, length, priority, writer.lastKey(plan.name));
    if (own) this.#ownOf(plan.name).add(writer.lastKey(plan.name));
    same("createItem waits", promise !== undefined, state === "waits");
  }

  #isFinal(id: number): boolean {
    const end = this.#draws.ends.get(id);
    return end === "truncated" || end === "terminated";
  }

  #ownOf(name: string): Set<number> {
    const found = this.#draws.own.get(name) ?? new Set();
    this.#draws.own.set(name, found);
    return found;
  }

  #end(): void {
    const { writer, w, plan, lanes } = this.#writer();
    const one = this.#random.below(2) === 0 ? this.#random.below(lanes.length) : undefined;
    if (this.#random.below(2) === 0) {
      this.#endWithFinal(writer, w, plan, one ?? 0);
      return;
    }
    writer.endEpisode(one === undefined ? {} : { lane: one });
    for (const [i, lane] of lanes.entries()) {
      if (one !== undefined && one !== i) continue;
      if (lane.episodeSteps > 0) this.#ended(lane, "plain");
      if (!plan.across) lane.episodes.length = 0;
      lane.ended = false;
    }
  }

  #endWithFinal(writer: AnyWriter, w: number, plan: PlannedWriter, at: number): void {
    const lane = (this.#lanes[w] as readonly Lane[])[at] as Lane;
    const terminated = this.#random.below(2) === 0;
    const give = () => writer.endEpisode({ lane: at, final: this.#steps.of([lane.next], false), terminated } as never);
    const ruled = this.#ruled(w).filter(({ plan: { rule } }) => due(lane, rule) && rule?.length !== 1);
    const refused = ruled.some(({ twin }) => !accepts(twin, this.#pairs));
    if (lane.episodeSteps === 0 || refused) {
      mustThrow(refused && lane.episodeSteps > 0 ? "RATE_LIMITED" : undefined, give);
      return;
    }
    give();
    step(lane, plan, true);
    for (const pair of ruled) this.#insert(pair, lane, pair.plan.rule?.length as number, 1, writer.lastKey(pair.plan.name));
    this.#ended(lane, terminated ? "terminated" : "truncated");
  }

  /** The newest step of a lane is the last one of its episode. */
  #ended(lane: Lane, how: End): void {
    this.#draws.ends.set(lane.next - 1, how);
    lane.episode = this.#episodes++;
    lane.episodeSteps = 0;
  }

  #sample(pair: Pair, kind: "sample" | "distinct" | "into"): void {
    const { plan, twin } = pair;
    const table = this.#table(plan.name);
    const single = twin.pending.length > 0 && isRandom(plan.remover);
    const distinct = kind === "distinct";
    const n = kind === "into" ? 4 : single ? 1 : 1 + this.#random.below(2 * twin.live.length + 2);
    if (kind === "into" && single) return;
    const length = kind === "into" ? 8 : undefined;
    // What waits comes in between such draws, or after them, by the table's remover (POLICY); the twin leaves it out.
    const waits = twin.pending.length > 0;
    const stratified = isRandom(plan.sampler) && !distinct && plan.maxTimesSampled === 0;
    const chosen = length === undefined ? readingOf(this.#random, { among: !waits, stratified: stratified && !waits }) : { cross: true, length };
    // An item whose key is not known yet is known by its first step.
    const reading: Reading = twin.live.some(({ key }) => key < 0) ? { ...chosen, offset: "start" } : chosen;
    const options = { replacement: !distinct, ...reading };
    let [batch, into]: unknown[] = [];
    try {
      into = kind === "into" ? (this.#into.get(plan.name) ?? table.batch(n, options as never)) : undefined;
      batch = table.sample(n, { ...options, ...(into !== undefined && { into }) } as never);
    } catch (error) {
      const mixed = reading.columns === undefined && this.#draws.own.has(plan.name);
      if ((mixed && (error as RefusedError).code === "SPEC_MISMATCH") || mayRefuse(reading, twin, error as RefusedError)) return;
      throw error;
    }
    this.#draws.compare(pair, batch as Batch, { kind, n, reading });
    if (kind !== "into") return;
    same("the batch that is refilled", into === undefined || batch === into, true);
    this.#into.set(plan.name, batch);
  }

  #someKeys({ twin, keys }: Pair): number[] {
    const known = [...twin.live, ...twin.pending].map(({ key }) => key).filter((key) => key > 0);
    return Array.from({ length: 1 + this.#random.below(4) }, () => {
      const dice = this.#random.below(8);
      if (dice < 6 && known.length > 0) return this.#random.pick(known);
      // One that is not in the table, and that none of unknown key can have.
      const gone = keys.filter((key) => !known.includes(key) && this.#pairs.every((pair) => pair.twin.live.every((item) => item.key > 0)));
      return dice === 6 && gone.length > 0 ? this.#random.pick(gone) : 0.5;
    });
  }

  #update(pair: Pair): void {
    const keys = this.#someKeys(pair);
    const priorities = keys.map(() => this.#random.pick(PRIORITIES));
    const found = keys.filter((key, i) => pair.twin.update(key, priorities[i] as number)).length;
    same("updated", this.#table(pair.plan.name).updatePriorities(keys, priorities), found);
  }

  #delete(pair: Pair): void {
    const keys = this.#someKeys(pair);
    const found = keys.filter((key) => pair.twin.delete(key)).length;
    same("deleted", this.#table(pair.plan.name).delete(keys), found);
    pair.twin.settle();
  }

  #restore(): void {
    // A snapshot takes memory of its own; what it gave must fit again.
    const bytes = [...this.#replay.snapshot()];
    let restored: Replay<Spec, string>;
    try {
      restored = Replay.restore(bytes, { logger: null }) as Replay<Spec, string>;
    } catch (error) {
      throw new Error(`what a snapshot gave cannot be restored: ${(error as Error).message}`);
    }
    this.#replay.dispose();
    this.#replay = restored;
    const there = this.#replay.writers as readonly AnyWriter[];
    // Those with a name are asked for by it, and are the same ones.
    this.#writers = this.#asked.map((options, w) => (options.name === undefined ? there[w] : this.#replay.writer(options as object)) as AnyWriter);
    same("writers by their names", this.#writers.map((writer) => there.indexOf(writer)).join(), [...there.keys()].join());
    this.#into.clear();
  }

  #compare(): void {
    const wrong = broken(this.#replay);
    if (wrong.length > 0) throw new Error(`the core's own check says ${wrong.join(", ")}`);
    for (const { plan, twin } of this.#pairs) {
      const { size, steps, pending, inserts, samples } = this.#table(plan.name).stats();
      same(
        `${plan.name}: size, steps, pending, inserts, samples`,
        [size, steps, pending, inserts, samples].join(),
        [twin.live.length, twin.steps, twin.pending.length, twin.inserts, twin.samples].join(),
      );
      for (const item of [...twin.live, ...twin.pending]) {
        if (item.key <= 0) continue;
        const { state, ...seen } = this.#table(plan.name).explain(item.key) as { state: string; length?: number; priority?: number; timesSampled?: number };
        const live = twin.live.includes(item);
        same(
          `${plan.name}: key ${item.key}`,
          [state, seen.length, seen.priority, seen.timesSampled].join(),
          [live ? "live" : "waiting", item.length, item.priority, item.timesSampled].join(),
        );
      }
    }
    for (const [w, lanes] of this.#lanes.entries()) same(`window of writer ${w}`, this.#writers[w]?.length, lanes[0]?.episodes.length);
  }
}

function step(lane: Lane, { keep, across }: PlannedWriter, final = false): void {
  if (lane.ended && !across) lane.episodes.length = 0;
  lane.ended = final;
  lane.next++;
  lane.episodeSteps++;
  lane.episodes.push(lane.episode);
  if (lane.episodes.length > keep) lane.episodes.shift();
}

/** Whether the next step makes an item. */
function due({ episodeSteps }: Lane, rule: PlannedTable["rule"]): boolean {
  return rule !== undefined && episodeSteps + 1 >= rule.length && (episodeSteps + 1 - rule.length) % rule.stride === 0;
}

/** Whether one more item comes in or may wait. */
function accepts(twin: TwinTable, pairs: readonly Pair[]): boolean {
  const { maxPending } = (pairs.find((pair) => pair.twin === twin) as Pair).plan;
  return (twin.pending.length === 0 && twin.canInsert()) || twin.pending.length < maxPending;
}

function mustThrow(code: string | undefined, work: () => unknown): void {
  try {
    work();
  } catch (error) {
    if (code !== undefined) same("the code of what is refused", (error as { code?: string }).code, code);
    return;
  }
  throw new Error(`what must be refused${code === undefined ? "" : ` with ${code}`} was not`);
}
