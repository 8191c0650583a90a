// One game's replay memory, wherever it lives: what its steps are, how much it may take, who may write, and how a learner empties it.
import { f32, fifo, i32, Replay } from "reprise";
import { encodeTagged } from "reprise/storage";

/** What actors and games must agree on. */
export const spec = { observation: f32(4), action: i32(), reward: f32() };

/**
 * An isolate of Cloudflare has 128 MB for everything in it. This game's part, 100 MB at most:
 * 64 MiB of steps and items, 16 actors with 1.5 MiB on their way each, and 8 MiB for code and the journal's buffers.
 */
const REPLAY_BYTES = 64 << 20;
export const MAX_ACTORS = 16;
const limits = { frameBytes: 1 << 19, inFlightBytes: 1 << 20, stepsPerSecond: 20_000 };

/** Opens a game's memory where it was left. A learner that is slow gets the newest 500,000 transitions: older ones make room. */
export function openGame(dir, options = {}) {
  return Replay.open({
    dir,
    spec,
    tables: { experience: { maxSize: 500_000, sampler: fifo(), maxTimesSampled: 1 } },
    maxBytes: REPLAY_BYTES,
    segmentBytes: 4 << 20,
    // Groups end only at `keep` and `flush`: otherwise a drain's removals could reach the disk, and a kill come, before its batch does.
    durability: "manual",
    ...options,
  });
}

/** Lets an actor write. One that comes again gets the writer that it had. A step is confirmed once it is in the journal, so an eviction or a crash loses and doubles none. */
export function acceptActor(replay, channel, options) {
  return replay.acceptWriter(channel, {
    items: [{ table: "experience", nStep: 1 }],
    confirm: "disk",
    sessionTtlMs: 60_000,
    limits,
    ...options,
  });
}

/** Transitions in one answer. */
const BATCH = 4096;

/**
 * The next transitions for the learner, as bytes for `decodeTagged`. They leave the table and are kept in the journal in one group, as nothing is awaited between the
 * two: a learner that did not get the answer asks again with the number of the last batch that it has, and gets the same one.
 */
export async function drain(replay, have) {
  const { journal, tables } = replay;
  let batch = journal.kept ?? { number: 0, count: 0 };
  if (batch.number <= have) {
    const count = Math.min(BATCH, tables.experience.size);
    if (count === 0) return encodeTagged({ number: have, count });
    const { observation, action, returns, nextObservation, discounts } = tables.experience.transitions({ gamma: 0.99 }).sample(count);
    const columns = { observation, action, returns, nextObservation, discounts };
    batch = { number: batch.number + 1, count, ...Object.fromEntries(Object.entries(columns).map(([name, { data }]) => [name, data])) };
    journal.keep(batch);
  }
  await replay.flush();
  return encodeTagged(batch);
}
