/** Opens a journal with a new version of its program: every runtime rewrites the journal when it opens it, and continues it. */
import { f64, i32, prioritized, Replay, shared, u8 } from "../../dist/index.js";

/** Compared with open-story.mjs, a leaf has another name and dtype, a leaf is new, and a table is smaller. */
const OPTIONS = {
  spec: { frame: shared("frames", u8(64), 2), action: i32(), gain: f64(), mood: i32() },
  tables: { items: { maxSize: 200, sampler: prioritized(0.6) } },
  seed: 5,
  segmentBytes: 16_384,
  durability: "manual",
  onMismatch: "migrate",
  rename: { reward: "gain" },
  migrate: (step) => ({ ...step, mood: step.action % 5 }),
};

/** Opens the journal that open-story.mjs left, continues with its writer, and leaves it open. Returns a summary of the content. */
export async function migrate(directory) {
  const replay = await Replay.open({ dir: directory, ...OPTIONS });
  const before = held(replay);
  const [writer] = replay.writers;
  const from = replay.journal.kept;
  for (let n = from; n < from + 50; n++) writer.append({ frame: new Uint8Array(128).fill(n % 7), action: n, gain: n / 2, mood: n % 5 });
  await replay.flush();
  return `migrated: ${before}`;
}

/** Opens the migrated journal again, and returns a summary. Deno may be unable to record its machine in the lock, so this takes the lock over. */
export async function reopen(directory) {
  const replay = await Replay.open({ dir: directory, takeOver: true, ...OPTIONS, migrate: undefined, onMismatch: undefined, rename: undefined });
  const after = held(replay);
  replay.dispose();
  return `opened again: ${after}`;
}

function held(replay) {
  const { size } = replay.table("items");
  const { action, gain, mood } = replay.table("items").sample(64).steps;
  let sum = 0;
  for (const value of action.data) sum = (Math.imul(sum, 31) + value) >>> 0;
  const isSame = action.data.every((n, i) => gain.data[i] === n / 2 && mood.data[i] === n % 5);
  return `${size} items, sum ${sum}, same values: ${isSame}`;
}
