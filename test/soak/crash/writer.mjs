// Makes random calls on a Replay in a directory until it is killed, and prints how many were acknowledged. `node writer.mjs DIR KIND DURABILITY SEED`
import { writeSync } from "node:fs";
import { Replay } from "reprise";
import { act, KINDS, randomOf } from "./world.mjs";

const [dir, kind, durability, seed] = process.argv.slice(2);
const replay = await Replay.open({
  dir,
  ...KINDS[kind].options,
  durability: durability === "often" ? { everyMs: 5 } : durability,
  segmentBytes: 4096 << (Number(seed) % 4),
  logger: null,
});
writeSync(1, "0\n");
const random = randomOf(Number(seed));
// The times of flushes do not change the calls.
const when = randomOf(Number(seed) + 1);
for (let calls = 1; calls <= 5000; calls++) {
  act(kind, replay, random);
  if (durability === "always") writeSync(1, `${calls}\n`);
  else if (when(50) === 0) {
    await replay.flush();
    writeSync(1, `${calls}\n`);
    await new Promise((resolve) => setTimeout(resolve));
  }
}
setInterval(() => {}, 1000);
