/** Finds and creates the element as a page does. */
import { f32, Replay } from "reprise";
import type { ReplayInspector } from "reprise/inspector";

const found: ReplayInspector | null = document.querySelector("replay-inspector");
const made: ReplayInspector = document.createElement("replay-inspector");
made.replay = new Replay({ spec: { x: f32() }, tables: { memory: { maxSize: 1 } } });
made.port = new Worker("my-worker.js");
await made.turn();
found?.pause();
// @ts-expect-error no such property
made.replays = null;
