// Records until it is killed: `node writer.mjs DIR IMAGES PLACE MODE SESSION`. Prints a line for each acknowledgement. `step E N D`: episode E, which will be
// discarded (D is 1) or not, has N steps; `episode E N`: the episode ended with N steps; `discarded E N`: the episode was discarded.
import { writeSync } from "node:fs";
import { open } from "reprise/record";
import { noiseOf, SPEC, stepOf, successOf, taskOf } from "./step.mjs";

const [dir, images, imagesIn, mode, session] = process.argv.slice(2);
const noise = noiseOf(Number(session) * 2654435761 + 17);
const random = (n) => (noise() >>> 8) % n;
const durability = mode === "often" ? { everyMs: 5 } : mode;
const say = (...words) => writeSync(1, `${words.join(" ")}\n`);

const recorder = await open({ dir, spec: SPEC, fps: 30, images, imagesIn, durability, segmentBytes: 100_000, logger: null });
say("open", recorder.episodes);
for (;;) {
  const episode = recorder.episodes;
  const [length, discarded] = [1 + random(12), Number(random(6) === 0)];
  for (let step = 0; step < length; step++) {
    recorder.step(stepOf(episode, step, [Number(session), length, discarded]));
    if (mode !== "always" && random(5) > 0) continue;
    if (mode !== "always") await recorder.flush();
    say("step", episode, step + 1, discarded);
  }
  if (discarded) await recorder.discardEpisode();
  else await recorder.endEpisode({ task: taskOf(episode), success: successOf(episode, length) });
  if (mode === "manual") await recorder.flush();
  say(discarded ? "discarded" : "episode", episode, length);
  // Timers can fire here, as in a loop that waits for the next frame.
  if (random(3) === 0) await new Promise((resolve) => setTimeout(resolve, random(4)));
}
