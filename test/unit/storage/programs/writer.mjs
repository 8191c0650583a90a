// Writes steps with increasing numbers to a journal until it is killed, and prints its progress after each flush: `node writer.mjs DIR DURABILITY`.
import { i32, Replay } from "reprise";

const [dir, durability] = process.argv.slice(2);
const replay = await Replay.open({
  dir,
  spec: { n: i32(), twice: i32(50) },
  tables: { t: { maxSize: 300 } },
  durability: durability === "often" ? { everyMs: 5 } : durability,
  segmentBytes: 64 * 1024,
});
const [writer = replay.writer({ items: [{ table: "t", length: 1 }] })] = replay.writers;
for (let n = replay.table("t").stats().inserts + 1; ; n++) {
  writer.append({ n, twice: new Int32Array(50).fill(2 * n) });
  replay.journal.keep(n);
  if (durability === "always") process.stdout.write(`${n}\n`);
  else if (n % 20 === 0) {
    await replay.flush();
    process.stdout.write(`${n}\n`);
    await new Promise((resolve) => setTimeout(resolve));
  }
}
