// Records an hour in a separate process: `node hour.mjs DIR IMAGES PLACE STEPS`. It prints a line of JSON: its peak memory, and the bytes of its frames.
import { existsSync, readFileSync } from "node:fs";
import { f32, text, u8 } from "reprise";
import { open } from "reprise/record";
import { noiseOf } from "./step.mjs";

const [dir, images, imagesIn, steps] = process.argv.slice(2);
const STATUS = "/proc/self/status";
const SIDE = 96;
const FPS = 30;
/** The number of steps in an episode: a minute. */
const EPISODE = 60 * FPS;

/** The images of a room, with a moving object and the noise of a camera. */
const FRAMES = Array.from({ length: 120 }, (_, at) => {
  const noise = noiseOf(at + 1);
  return Uint8Array.from({ length: SIDE * SIDE * 3 }, (_, i) => {
    const [x, y, c] = [Math.floor(i / 3) % SIDE, Math.floor(i / 3 / SIDE), i % 3];
    const thing = (x - (at % SIDE)) ** 2 + (y - 48) ** 2 < 200 ? 90 : 0;
    return x + 20 * c + thing + (noise() & 3);
  });
});

const sizes = images === "raw" ? FRAMES.map(({ length }) => length) : await pngSizes();
const spec = { observation: { front: u8(SIDE, SIDE, 3), wrist: u8(SIDE, SIDE, 3), state: f32(6) }, action: f32(6), instruction: text({ maxBytes: 60 }) };
const recorder = await open({ dir, spec, fps: FPS, images, imagesIn, logger: null });
const [state, action] = [new Float32Array(6), new Float32Array(6)];
let frameBytes = 0;
let most = 0;
for (let step = 0; step < Number(steps); step++) {
  const [front, wrist] = [step % FRAMES.length, (7 * step + 3) % FRAMES.length];
  state[0] = step;
  action[0] = -step;
  recorder.step({ observation: { front: FRAMES[front], wrist: FRAMES[wrist], state }, action, instruction: "put the red cube into the bowl" });
  frameBytes += sizes[front] + sizes[wrist];
  if ((step + 1) % EPISODE === 0) await recorder.endEpisode({ task: "put the red cube into the bowl", success: true });
  if (step % 100 === 0) {
    most = Math.max(most, process.memoryUsage.rss());
    // Yields like a loop that waits for its cameras.
    await new Promise((resolve) => setImmediate(resolve));
  }
}
await recorder.close();
// The peak that the system measured between those samples also counts. (Not `resourceUsage`, which includes the peak of the parent.)
const [, peak = 0] = existsSync(STATUS) ? (/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(STATUS, "utf8")) ?? []) : [];
most = Math.max(most, 1024 * Number(peak));
console.log(JSON.stringify({ most, frameBytes, first: Buffer.from(FRAMES[0]).toString("base64") }));

/** Returns the size of each frame as a PNG. */
async function pngSizes() {
  const { deflateSync } = await import("node:zlib");
  const lines = (data) => Buffer.concat(Array.from({ length: SIDE }, (_, y) => Buffer.concat([Buffer.of(0), data.subarray(y * SIDE * 3, (y + 1) * SIDE * 3)])));
  // The overhead is the signature, the header, the end, and the chunk around the pixels.
  return FRAMES.map((data) => 8 + 25 + 12 + 12 + deflateSync(lines(data), { level: 3 }).length);
}
