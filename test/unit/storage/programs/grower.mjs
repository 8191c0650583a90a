// Writes 15 steps for every line on stdin, and prints their numbers: `node grower.mjs DIR all|capacity|recording`. Each step is on the disk when its call
// returns.
import { createInterface } from "node:readline";
import { i32, Replay, u8 } from "reprise";
import { open } from "reprise/record";

const [dir, what] = process.argv.slice(2);
const how = { dir, segmentBytes: 4096, durability: "always" };
const pad = new Uint8Array(700);
let step;
let close;
if (what === "recording") {
  const recorder = await open({ ...how, spec: { observation: i32(), action: u8(700) }, fps: 10 });
  step = async (n) => {
    recorder.step({ observation: n, action: pad });
    if (n % 10 === 0) await recorder.endEpisode({ success: true });
  };
  close = () => recorder.close();
} else {
  const replay = await Replay.open({ ...how, spec: { n: i32(), pad: u8(700) }, tables: { t: { maxSize: 7 } }, retain: what });
  const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
  step = (n) => writer.append({ n, pad });
  close = () => replay.dispose();
}
let n = 0;
for await (const _ of createInterface({ input: process.stdin }))
  for (let i = 0; i < 15; i++) {
    await step(++n);
    process.stdout.write(`${n}\n`);
  }
await close();
