// Runs one launch: 1 M steps in the store, a program that keeps filling and drawing between the frames, and the inspector's time per frame.
import { f32, i32, prioritized, Replay } from "/dist/index.js";
import "/dist/inspector.js";

const STEPS = 1_000_000;
const FRAMES = 600;
const WARM_UP = 120;
const EPISODE = 200;
/** The number of steps that the program appends per frame. DRAWN is the number of items that it draws per frame. */
const APPENDED = 8;
const DRAWN = 64;

const spec = { observation: f32(8), action: i32(), reward: f32() };
const replay = new Replay({ spec, tables: { transitions: { maxSize: STEPS, sampler: prioritized(0.6) } }, seed: 1 });
const writer = replay.writer({ items: [{ table: "transitions", length: 2 }] });
const { transitions } = replay.tables;

let steps = 0;
function append() {
  const { staged } = writer;
  for (let i = 0; i < 8; i++) staged.observation[i] = (steps * (i + 3)) % 17;
  staged.action = steps % 4;
  staged.reward = (steps % 7) - 3;
  writer.append();
  if (++steps % EPISODE === 0) writer.endEpisode();
}
while (transitions.size < STEPS) append();

// The inspector works in its animation frame callbacks, and in work deferred to the end of the task.
const asked = globalThis.requestAnimationFrame.bind(globalThis);
let frame = 0;
globalThis.requestAnimationFrame = (act) =>
  asked((now) => {
    const start = performance.now();
    act(now);
    queueMicrotask(() => {
      frame += performance.now() - start;
    });
  });

document.querySelector("replay-inspector").replay = replay;

const times = [];
let into;
function play() {
  times.push(frame);
  frame = 0;
  for (let i = 0; i < APPENDED; i++) append();
  into = transitions.sample(DRAWN, { length: 2, into });
  transitions.updatePriorities(into.info.keys, into.info.priorities.fill(1 + (steps % 13) / 4));
  if (times.length < WARM_UP + FRAMES) asked(play);
  else done();
}
asked(play);

function done() {
  const all = times.slice(WARM_UP);
  // Frames in which the inspector does no work are left out, because they would only lower the result.
  const worked = all.filter((ms) => ms > 0.05).sort((a, b) => a - b);
  const at = (part) => worked[Math.min(worked.length - 1, Math.floor(worked.length * part))];
  const sum = worked.reduce((a, b) => a + b, 0);
  globalThis.lines = {
    items: transitions.size,
    frames: all.length,
    worked: worked.length,
    median: at(0.5),
    p99: at(0.99),
    worst: worked.at(-1),
    mean: sum / all.length,
  };
  document.title = "done";
}
