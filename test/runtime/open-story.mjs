/** Opens a stored Replay in every runtime, interrupts it and opens it again: its draws are the same everywhere. */
import { f32, i32, prioritized, Replay, shared, u8 } from "../../dist/index.js";

const OPTIONS = {
  spec: { frame: shared("frames", u8(64), 2), action: i32(), reward: f32() },
  tables: { items: { maxSize: 500, sampler: prioritized(0.6) } },
  seed: 5,
  segmentBytes: 16_384,
  durability: "manual",
};

/** Opens a Replay three times, and continues it each time. Returns a summary. */
export async function open(directory) {
  let sum = 0;
  for (let session = 0; session < 3; session++) {
    const replay = await Replay.open({ dir: directory, ...OPTIONS });
    const [writer = replay.writer({ items: [{ table: "items", length: 3, priority: 1 }] })] = replay.writers;
    const table = replay.table("items");
    const from = replay.journal.kept ?? 0;
    for (let n = from; n < from + 1000; n++) {
      const frame = [n % 7, (n + 1) % 7].flatMap((value) => Array(64).fill(value));
      writer.append({ frame: Uint8Array.from(frame), action: n, reward: n / 2 });
      if (n % 50 === 49) writer.endEpisode();
      if (n % 10 !== 9) continue;
      const { info, steps } = table.sample(8);
      for (const action of steps.action.data) sum = (Math.imul(sum, 31) + action) >>> 0;
      table.updatePriorities(
        info.keys,
        steps.reward.data.filter((_, i) => i % 3 === 0).map((reward) => reward % 11),
      );
    }
    replay.journal.keep(from + 1000);
    await replay.flush();
    if (session === 1) replay.dispose();
    // Otherwise, the Replay stays open, and the same program takes it over.
  }
  return `a Replay: sum ${sum}`;
}
