/** Tests discarding an episode before its final step arrives: that step must not become the first step of the next episode. */
import { expect, test } from "vitest";
import { f32, i32, Replay } from "../../src/index.ts";
import { memory } from "../../src/storage/index.ts";
import { broken } from "../support/health.ts";
import { TestRandom } from "../support/random.ts";
import { bytesOf, errorOf, expectError } from "../support/refused.ts";
import { scaled } from "../support/size.ts";
import { pair } from "./remote/support.ts";

const spec = { observation: i32(), action: i32(), reward: f32() };
const TABLES = { t: { maxSize: 1000 } };
const rule = { table: "t", nStep: 1 } as const;

/** Models the expected table for one environment with autoreset "nextStep", as pairs of consecutive observations. */
class Lane {
  pairs: string[] = [];
  #episode: string[] = [];
  #last: number | undefined;
  /** The kind of the next step; undefined for a regular or first step. */
  next: "final" | "value" | "dropped" | undefined;

  step(id: number, end: "no" | "truncated" | "terminated"): void {
    const { next } = this;
    this.next = undefined;
    if (next === "dropped") return;
    if (next === "value") {
      this.pairs[this.pairs.length - 1] = `${this.#last}>${id}`;
      this.#last = undefined;
      return;
    }
    if (this.#last !== undefined) this.#episode.push(`${this.#last}>${id}`);
    this.#last = id;
    if (next === "final") this.#end();
    else if (end === "truncated") this.next = "final";
    else if (end === "terminated") {
      this.#episode.push(`${id}>0`);
      this.#end();
      this.#last = id;
      this.next = "value";
    }
  }

  /** Returns the number of deleted items. */
  discard(): number {
    const count = this.#episode.length;
    if (this.next === "value" || this.next === "dropped") return 0;
    this.next = this.next === "final" ? "dropped" : undefined;
    this.#episode = [];
    this.#last = undefined;
    return count;
  }

  /** Simulates closing the writer: its newest step becomes the final one. */
  close(): string[] {
    return [...this.pairs, ...this.#episode];
  }

  #end(): void {
    this.pairs.push(...this.#episode);
    this.#episode = [];
    this.#last = undefined;
  }
}

function pairsIn(replay: Replay): string[] {
  const { t } = replay.tables as never as { t: ReturnType<Replay["table"]> };
  if (t.size === 0) return [];
  const { observation, nextObservation } = t.transitions({ gamma: 1 } as never).sample(t.size, { replacement: false } as never) as never as {
    observation: { data: Int32Array };
    nextObservation: { data: Int32Array };
  };
  return [...observation.data].map((id, i) => `${id}>${nextObservation.data[i]}`).sort();
}

async function world(seed: number): Promise<void> {
  const random = new TestRandom(seed);
  const lanes = random.pick([1, 2, 3]);
  const how = random.pick(["here", "here", "restored", "journal", "port"] as const);
  const dir = memory();
  const writerOptions = { name: "w", lanes, items: [rule], autoreset: "nextStep" } as const;
  const journal = { spec, tables: TABLES, logger: null, dir, durability: "manual" } as const;
  let replay: Replay = (how === "journal" ? await Replay.open(journal) : new Replay({ spec, tables: TABLES, logger: null })) as never;
  // biome-ignore lint/suspicious/noExplicitAny: a local or remote writer
  let writer: any;
  if (how === "port") {
    const { name: _, ...options } = writerOptions;
    const made = await pair({ spec, tables: TABLES, logger: null }, { items: [rule], autoreset: "nextStep" } as never, { lanes: options.lanes } as never);
    replay = made.replay as never;
    writer = made.writer;
  } else writer = replay.writer(writerOptions as never);
  const twins = Array.from({ length: lanes }, () => new Lane());
  let id = 0;
  for (let k = 0; k < 50; k++) {
    const steps = random.pick([1, 1, 4]);
    const rows: number[][] = [];
    const ends: ("no" | "truncated" | "terminated")[][] = [];
    for (let s = 0; s < steps; s++) {
      rows.push(twins.map(() => ++id));
      ends.push(twins.map(({ next }) => (next !== undefined ? "no" : random.pick(["no", "no", "no", "truncated", "terminated"]))));
      for (const [i, twin] of twins.entries()) twin.step(rows[s]?.[i] as number, ends[s]?.[i] as "no");
    }
    const flags = (kind: string) => ends.flat().map((end) => end === kind);
    const columns = { observation: rows.flat(), action: rows.flat(), reward: rows.flat().map(() => 1) };
    const lane = { terminated: flags("terminated"), truncated: flags("truncated") };
    if (steps === 1) await writer.append(columns, lane);
    else await writer.appendColumns(columns, lane);
    if (random.below(3) === 0) {
      const which = random.below(lanes + 1);
      const of = which === lanes ? twins : [twins[which] as Lane];
      const count = of.reduce((sum, twin) => sum + twin.discard(), 0);
      const gone = await writer.discardEpisode(which === lanes ? {} : { lane: which });
      if (how !== "port") expect(gone, `seed ${seed}, call ${k}`).toBe(count);
    } else if (random.below(20) === 0) {
      const dropped = twins.findIndex(({ next }) => next === "dropped");
      if (dropped >= 0 && how !== "port") {
        const before = bytesOf(replay);
        const bad = twins.map((_, i) => i === dropped);
        expectError(
          errorOf(() =>
            writer.append(
              { observation: bad.map(Number), action: bad.map(Number), reward: bad.map(Number) },
              { truncated: bad, terminated: bad.map(() => false) },
            ),
          ),
          "OUT_OF_TURN",
        );
        expect(bytesOf(replay).equals(before)).toBe(true);
      }
    }
    if (how === "restored" && random.below(6) === 0) {
      replay = Replay.restore(replay.snapshot(), { logger: null });
      writer = replay.writer(writerOptions as never);
    } else if (how === "journal" && random.below(6) === 0) {
      await replay.flush();
      replay.dispose();
      replay = (await Replay.open(journal)) as never;
      writer = replay.writer(writerOptions as never);
    }
    if (how === "port") await writer.flush();
    expect(broken(replay), `seed ${seed}, call ${k}`).toEqual([]);
    if (how !== "port") expect(pairsIn(replay), `seed ${seed}, call ${k}`).toEqual(twins.flatMap((twin) => twin.close()).sort());
  }
  await writer.close();
  expect(pairsIn(replay), `seed ${seed}`).toEqual(twins.flatMap((twin) => twin.close()).sort());
}

test("the final step of a discarded episode does not start the next episode", async () => {
  for (let seed = 0; seed < scaled(300, 5); seed++) await world(seed);
});

test("after endEpisode, the next step is the first one of a new episode", () => {
  const replay = new Replay({ spec, tables: TABLES, logger: null });
  const writer = replay.writer({ lanes: 1, items: [{ table: "t", length: 2 }], autoreset: "nextStep" });
  const step = (observation: number) => ({ observation: [observation], action: [0], reward: [0] });
  writer.append(step(1), { truncated: [true] });
  writer.discardEpisode();
  writer.endEpisode();
  writer.append(step(2));
  writer.append(step(3));
  const { steps } = replay.tables.t.sample(1);
  expect([...steps.observation.data]).toEqual([2, 3]);
});
