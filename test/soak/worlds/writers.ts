/** Runs the writers of a world and their twins: makes calls that append steps, end episodes and create items. */
import type { Replay, Spec, Writer } from "../../../src/index.ts";
import type { TestRandom } from "../../support/random.ts";
import { type Draws, type Pair, same } from "./draws.ts";
import { Call, type Ends, type Lane, type Made, newLane } from "./lanes.ts";
import { type Plan, type PlannedTable, type PlannedWriter, takesMany } from "./plan.ts";
import { OWN } from "./reading.ts";
import type { OpenWriters } from "./restarts.ts";
import type { Steps } from "./steps.ts";

export const PRIORITIES = [0, 0, 0.25, 1, 1, 1, 2, 5, 1000];
const HOW = ["truncated", "terminated"] as const;

export type AnyReplay = Replay<Spec, string>;
type AnyWriter = Writer<Spec, string, boolean>;

interface Seat {
  readonly plan: PlannedWriter;
  readonly w: number;
  writer: AnyWriter;
  readonly lanes: Lane[];
}

export class Writers {
  readonly #tables: readonly PlannedTable[];
  readonly #steps: Steps;
  readonly #draws: Draws;
  readonly #pairs: readonly Pair[];
  readonly #seats: readonly Seat[];
  /** The seats in the order in which their writers were created. */
  #order: Seat[];
  #replay: AnyReplay;
  /** Episodes that ended, and episodes that had an item. */
  readonly #ended = new Set<number>();
  readonly #itemed = new Set<number>();
  #unseen = -1;

  constructor(plan: Plan, replay: AnyReplay, pairs: readonly Pair[], steps: Steps, draws: Draws) {
    this.#tables = plan.tables;
    this.#replay = replay;
    this.#pairs = pairs;
    this.#steps = steps;
    this.#draws = draws;
    this.#seats = plan.writers.map((writer, w) => ({
      plan: writer,
      w,
      writer: this.#made(writer, w),
      lanes: Array.from({ length: writer.lanes }, (_, i) => newLane((w * 8 + i + 1) * 100_000)),
    }));
    this.#order = [...this.#seats];
  }

  /** Finds the writers of a restored Replay, in the order in which they were created unless the restore closed them. Named writers are found by name. */
  adopt(replay: AnyReplay, how: OpenWriters, random: TestRandom): void {
    this.#replay = replay;
    const there = replay.writers as readonly AnyWriter[];
    if (how === "close") {
      same("writers", there.length, 0);
      this.#closeAll();
      return;
    }
    same("writers", there.length, this.#order.length);
    for (const [i, seat] of this.#order.entries()) seat.writer = there[i] as AnyWriter;
    for (const seat of [...this.#order]) {
      const { name } = seat.plan;
      if (name === undefined) continue;
      if (random.below(3) === 0) mustThrow("SPEC_MISMATCH", () => this.#made({ ...seat.plan, keep: seat.plan.keep + 1 }, seat.w));
      if (random.below(6) > 0) {
        same(`the writer ${name}`, this.#made(seat.plan, seat.w), seat.writer);
        mustThrow("OUT_OF_TURN", () => this.#made(seat.plan, seat.w));
      }
    }
    const [left] = this.#order.filter(({ w, plan: { name } }) => name === undefined && this.#ruled(w).length > 0);
    if (left !== undefined && random.below(3) === 0) this.#beside(left);
  }

  /** Simulates a script that ignores the writer of its previous run, and then a program that closes that writer. */
  #beside(seat: Seat): void {
    const left = seat.writer;
    seat.writer = this.#made(seat.plan, seat.w);
    if (this.#replay.stats().warnings.leftWriters !== 1) throw new Error("nothing was said of a writer that an earlier run has left");
    this.#order = [...this.#order.filter((one) => one !== seat), seat];
    this.#closed(seat, () => left.close());
  }

  /** Applies the items that closing all writers created. Only the keys of the last items per table are known. */
  #closeAll(): void {
    const calls = this.#order.map((seat) => {
      const call = this.#begin(seat);
      for (const lane of call.lanes) call.close(lane);
      return [seat, call] as const;
    });
    const last = calls.flatMap(([, { made }]) => made);
    for (const [seat, call] of calls) {
      seat.writer = this.#made(seat.plan, seat.w);
      this.#done(seat, call, last);
      for (const [i, { next }] of [...seat.lanes.entries()]) seat.lanes[i] = newLane(next + 10);
    }
  }

  append(random: TestRandom, staged: boolean): void {
    const seat = random.pick(this.#seats);
    const { writer, lanes } = seat;
    const ids = lanes.map(comes);
    this.#call(
      seat,
      (call) => {
        for (const lane of call.lanes) call.step(lane);
      },
      () => {
        if (!staged) return writer.append(this.#steps.of(ids, lanes.length > 1) as never);
        this.#steps.into(writer.staged, ids);
        return writer.append();
      },
    );
  }

  /** Appends a step of several lanes, some of which end with it. */
  ends(random: TestRandom): void {
    const seat = random.pick(this.#seats);
    const { plan, w, writer, lanes } = seat;
    if (!this.#ruled(w).every((pair) => takesMany(pair.plan))) return;
    const hows = lanes.map(({ awaits }) => (awaits === undefined ? random.pick([undefined, undefined, ...HOW]) : undefined));
    const later = plan.autoreset === "nextStep";
    const blank = !plan.across && !hows.includes("truncated") && random.below(2) === 0;
    const flags = Object.fromEntries(HOW.map((how) => [how, hows.map((one) => one === how)]));
    const final =
      later || blank
        ? undefined
        : this.#steps.of(
            lanes.map(({ next }, i) => (hows[i] === undefined ? 99 : next + 1)),
            true,
          );
    this.#call(
      seat,
      (call) => {
        for (const [i, lane] of call.lanes.entries()) {
          call.step(lane);
          const how = hows[i];
          if (how === undefined) continue;
          if (later) call.endLater(lane, how);
          else call.final(lane, how, blank);
        }
      },
      () => writer.append(this.#steps.of(lanes.map(comes), true) as never, { ...flags, ...(final !== undefined && { final }) } as never),
    );
  }

  /** Appends many steps, some of which end episodes. */
  block(random: TestRandom): void {
    const seat = random.pick(this.#seats);
    const { plan, w, writer, lanes } = seat;
    const ruled = this.#ruled(w);
    if (lanes.length > 1 || !ruled.every((pair) => takesMany(pair.plan))) return;
    const n = 1 + random.below(12);
    const later = plan.autoreset === "nextStep";
    const endings = [undefined, undefined, undefined, ...(random.below(2) === 0 ? HOW : [])];
    const [lane] = lanes as [Lane];
    const hows: ((typeof HOW)[number] | undefined)[] = [];
    // A step that a lane awaits does not end the lane again.
    for (let i = 0, awaits = lane.awaits !== undefined; i < n; i++, awaits = later && hows[i - 1] !== undefined)
      hows.push(awaits ? undefined : random.pick(endings));
    const blank = !later && !plan.across && !hows.includes("truncated") && random.below(2) === 0;
    const ids: number[] = [];
    const finals: number[] = [];
    for (let next = comes(lane), i = 0; i < n; i++) {
      ids.push(next++);
      if (!later && hows[i] !== undefined) finals.push(next++);
    }
    const priorities = Object.fromEntries(
      ruled.filter(() => random.below(2) === 0).map(({ plan: { name } }) => [name, ids.map(() => random.pick(PRIORITIES))]),
    );
    const given = (table: string, step: number) => priorities[table]?.[ids.indexOf(step)];
    const flags = hows.every((how) => how === undefined) ? {} : Object.fromEntries(HOW.map((how) => [how, hows.map((one) => Number(one === how))]));
    this.#call(
      seat,
      (call) => {
        const [one] = call.lanes as [Lane];
        for (const how of hows) {
          call.step(one);
          if (how !== undefined && later) call.endLater(one, how);
          else if (how !== undefined) call.final(one, how, blank);
        }
      },
      () =>
        writer.appendColumns(
          this.#steps.of(ids, true) as never,
          { ...flags, ...(!blank && finals.length > 0 && { final: this.#steps.of(finals, true) }), priorities } as never,
        ),
      given,
    );
  }

  create(random: TestRandom, pair: Pair): void {
    const { writer, lanes } = random.pick(this.#seats);
    const { plan } = pair;
    const lane = random.below(lanes.length);
    const { next, episodes } = lanes[lane] as Lane;
    const length = 1 + random.below(Math.max(episodes.length, 1));
    const priority = random.pick(PRIORITIES);
    const own = plan.own && random.below(3) === 0;
    const give = () => writer.createItem(plan.name, { length, priority, lane, ...(own && { columns: OWN }) } as never)?.catch(() => undefined);
    const impossible = episodes.length === 0 || this.#known.isFinal(next - length);
    if (impossible || !accepts(pair)) {
      mustThrow(impossible ? undefined : "RATE_LIMITED", give);
      return;
    }
    const promise = give();
    const key = writer.lastKey(plan.name);
    const state = this.#insert(pair, { first: next - length, length, episodes: [...new Set(episodes.slice(-length))], priority }, key);
    if (own) this.#draws.ownOf(plan.name).add(key);
    same("createItem waits", promise !== undefined, state === "waits");
  }

  end(random: TestRandom): void {
    const seat = random.pick(this.#seats);
    const { w, writer, lanes } = seat;
    const one = random.below(2) === 0 ? random.below(lanes.length) : undefined;
    if (random.below(2) === 0) {
      this.#endWithFinal(random, seat, one ?? 0);
      return;
    }
    const ending = lanes.filter((_, i) => one === undefined || one === i);
    const give = () => writer.endEpisode(one === undefined ? {} : { lane: one });
    if (this.#ruled(w).some(({ plan: { rule } }) => (rule?.nStep ?? 0) > 0)) {
      mustThrow(undefined, give);
      return;
    }
    if (ending.some(({ awaits }) => awaits !== undefined)) return;
    this.#call(
      seat,
      (call) => {
        for (const [i, lane] of call.lanes.entries()) if (one === undefined || one === i) call.end(lane);
      },
      give,
    );
  }

  #endWithFinal(random: TestRandom, seat: Seat, at: number): void {
    const { plan, writer, lanes } = seat;
    const { next, episodeSteps, awaits } = lanes[at] as Lane;
    const how = random.pick(HOW);
    const terminated = how === "terminated";
    const blank = !plan.across && terminated && random.below(2) === 0;
    const give = () => writer.endEpisode({ lane: at, terminated, ...(!blank && { final: this.#steps.of([next], false) }) } as never);
    if (episodeSteps === 0 || awaits !== undefined) {
      mustThrow("OUT_OF_TURN", give);
      return;
    }
    this.#call(seat, (call) => call.final(call.lanes[at] as Lane, how, blank), give);
  }

  /** Closes a writer and replaces it with a writer with the same options. */
  close(random: TestRandom): void {
    const seat = random.pick(this.#seats);
    const { w, plan, writer } = seat;
    this.#closed(seat, () => {
      writer.close();
      seat.writer = this.#made(plan, w);
      this.#order = [...this.#order.filter((one) => one !== seat), seat];
    });
  }

  #closed(seat: Seat, give: () => void): void {
    this.#call(
      seat,
      (call) => {
        for (const lane of call.lanes) call.close(lane);
      },
      give,
    );
    for (const [i, { next }] of [...seat.lanes.entries()]) seat.lanes[i] = newLane(next + 10);
  }

  compare(): void {
    for (const { w, writer, lanes } of this.#seats) {
      const [{ episodes, episodeSteps }] = lanes as [Lane];
      same(`window of writer ${w}`, writer.length, episodes.length);
      same(`steps in the episode of writer ${w}`, writer.episodeSteps, episodeSteps);
    }
    const { steps, warnings } = this.#replay.stats();
    same("steps that are held", steps, this.#held());
    const barren = [...this.#ended].filter((episode) => !this.#itemed.has(episode) && !this.#atHand(episode)).length;
    if (warnings.barrenEpisodes > barren) throw new Error(`warned of ${warnings.barrenEpisodes} episodes without an item, of which there are ${barren}`);
  }

  get #known(): Ends {
    return this.#draws.ends;
  }

  #made(plan: PlannedWriter, w: number): AnyWriter {
    const { lanes, keep, across, autoreset, name } = plan;
    const items = this.#tables.flatMap(({ name, rule }) => {
      if (rule?.writer !== w) return [];
      const { priority, length, stride, nStep } = rule;
      return [{ table: name, priority, ...(nStep > 0 ? { nStep } : { length, stride }) }];
    });
    return this.#replay.writer({ lanes, keep, across, items, autoreset, ...(name !== undefined && { name }) } as never) as unknown as AnyWriter;
  }

  #ruled(w: number): readonly Pair[] {
    return this.#pairs.filter(({ plan }) => plan.rule?.writer === w);
  }

  /** Makes a call and compares it with the prediction of the twin. */
  #call(seat: Seat, twin: (call: Call) => void, give: () => unknown, given?: (table: string, step: number) => number | undefined): void {
    const call = this.#begin(seat, given);
    twin(call);
    if (this.#ruled(seat.w).some((pair) => call.made.some(({ table }) => table === pair.plan.name) && !accepts(pair))) {
      mustThrow("RATE_LIMITED", give);
      return;
    }
    give();
    this.#done(seat, call, call.made);
  }

  #begin({ plan, w, lanes }: Seat, given?: (table: string, step: number) => number | undefined): Call {
    const ruled = this.#ruled(w).map((pair) => pair.plan);
    return new Call(plan, ruled, lanes, this.#known, given);
  }

  /** @param all items created together, some of them by this call */
  #done(seat: Seat, call: Call, all: readonly Made[]): void {
    call.done(seat.lanes);
    for (const episode of call.ended) this.#ended.add(episode);
    for (const item of call.made) {
      const isLast = !all.slice(all.indexOf(item) + 1).some(({ table }) => table === item.table);
      // The keys of the other items are unknown until their first draw.
      const key = isLast ? seat.writer.lastKey(item.table) : this.#unseen--;
      this.#insert(this.#pairs.find((pair) => pair.plan.name === item.table) as Pair, item, key);
    }
  }

  #insert(pair: Pair, { first, length, episodes, priority }: Omit<Made, "table">, key: number): "in" | "waits" | "refused" {
    if (key > 0) pair.keys.push(key);
    for (const episode of episodes) this.#itemed.add(episode);
    // A transition may contain only the first step of an item.
    if (length === 1 || this.#known.has(first)) this.#draws.singles.add(pair.plan.name);
    return pair.twin.insert({ key, first, length, episodes, priority, touch: 0, timesSampled: 0 });
  }

  #atHand(episode: number): boolean {
    return this.#seats.some(({ lanes }) => lanes.some(({ episodes }) => episodes.includes(episode)));
  }

  /** Returns the number of distinct steps of windows and items. */
  #held(): number {
    const held = new Set<number>();
    const hold = (first: number, length: number) => {
      for (let step = first; step < first + length; step++) held.add(step);
    };
    for (const { lanes } of this.#seats) for (const { next, episodes } of lanes) hold(next - episodes.length, episodes.length);
    for (const { twin } of this.#pairs) for (const { first, length } of [...twin.live, ...twin.pending]) hold(first, length);
    return held.size;
  }
}

/** Returns the number of the next step of a lane. */
function comes({ next, awaits }: Lane): number {
  return awaits === "value" ? next - 1 : next;
}

/** Returns whether another item can be inserted or wait. */
function accepts({ twin, plan: { maxPending } }: Pair): boolean {
  return (twin.pending.length === 0 && twin.canInsert()) || twin.pending.length < maxPending;
}

export function mustThrow(code: string | undefined, work: () => unknown): void {
  try {
    work();
  } catch (error) {
    if (code !== undefined) same("the code of what is refused", (error as { code?: string }).code, code);
    return;
  }
  throw new Error(`what must be refused${code === undefined ? "" : ` with ${code}`} was not`);
}
