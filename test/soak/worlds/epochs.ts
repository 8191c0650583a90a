/** Checks epochs that continue across other calls and restarts of the Replay: every item that existed at the beginning and still exists is drawn once. */
import type { EpochState, Spec, Table } from "../../../src/index.ts";
import { isRandom, type TwinItem } from "../../model/twin-table.ts";
import type { TestRandom } from "../../support/random.ts";
import { type Batch, type Pair, same, unseen } from "./draws.ts";
import { isPlain } from "./loops.ts";

interface Epoch {
  readonly members: Set<TwinItem>;
  readonly seen: Set<TwinItem>;
  readonly batchSize: number;
  state: EpochState;
}

export class Epochs {
  readonly #open = new Map<string, Epoch>();

  /** Draws several batches of the open epoch of a table, or of a new epoch. */
  run({ plan, twin }: Pair, table: Table<Spec>, random: TestRandom): void {
    const waits = twin.pending.length > 0 && isRandom(plan.remover);
    if (plan.own || !isPlain(plan) || waits || !twin.canSample()) return;
    const open = this.#open.get(plan.name);
    const batchSize = open?.batchSize ?? 1 + random.below(6);
    const begins = open === undefined ? { shuffle: random.below(3) > 0, seed: random.below(2 ** 31) } : { state: JSON.parse(JSON.stringify(open.state)) };
    const dataset = table.dataset({ batchSize, epochs: 1, ...begins } as never) as Iterable<Batch> & { state(): EpochState };
    const epoch = open ?? { members: new Set(twin.live), seen: new Set<TwinItem>(), batchSize, state: dataset.state() };
    let left = random.pick([0, 1, 3, 100]);
    let isOver = true;
    for (const batch of dataset) {
      this.#compare(epoch, { plan, twin } as Pair, batch);
      if (left-- > 0) continue;
      isOver = false;
      break;
    }
    epoch.state = dataset.state();
    if (!isOver && epoch.state.since !== 0) {
      this.#open.set(plan.name, epoch);
      return;
    }
    this.#open.delete(plan.name);
    for (const item of epoch.members) if (twin.live.includes(item)) same(`an epoch gave the item of key ${item.key}`, epoch.seen.has(item), true);
  }

  /** An empty table has no epoch. */
  clear(name: string): void {
    this.#open.delete(name);
  }

  #compare({ members, seen }: Epoch, { twin }: Pair, batch: Batch): void {
    for (let i = 0; i < batch.count; i++) {
      const key = batch.info.keys[i] as number;
      const item = twin.live.find((one) => one.key === key) ?? unseen(twin, batch, i, key);
      if (item === undefined) throw new Error(`an epoch gave key ${key}, which is not live`);
      same(`an epoch gives key ${key}, which was there when it began`, members.has(item), true);
      same(`an epoch gave key ${key} before`, seen.has(item), false);
      seen.add(item);
      twin.drawn(item);
      same("times sampled", batch.info.timesSampled[i], item.timesSampled);
    }
  }
}
