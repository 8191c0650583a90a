// Appends ten steps and exits without a flush, in the middle of a loop or with an error: `node leaver.mjs DIR replay|draws|pfrl exit|throw`.
import { i32, Replay } from "reprise";
import { PersistentReplayBuffer } from "reprise/pfrl";

const [dir, what, how] = process.argv.slice(2);
let append;
let draw = () => {};
if (what === "pfrl") {
  const buffer = new PersistentReplayBuffer(dir, 100);
  append = (n) => buffer.append({ state: n, action: 0, reward: 0 });
} else {
  const replay = await Replay.open({ dir, spec: { n: i32() }, tables: { t: { maxSize: 300 } }, durability: what === "draws" ? "always" : { everyMs: 60_000 } });
  const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
  append = (n) => writer.append({ n });
  draw = () => replay.table("t").sample(25);
}
for (let n = 0; n < 10; n++) append(n);
draw();
if (how === "throw") throw new Error("nobody catches it");
process.exit(3);
