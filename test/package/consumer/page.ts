/** Uses arrays as pages do, which requires lib dom. */
import { f32, Replay } from "reprise";
import { openRlds } from "reprise/rlds";

const replay = new Replay({ spec: { x: f32(3) }, tables: { memory: { maxSize: 1 } } });
const { data } = replay.tables.memory.sample(1).steps.x;
export const blob: Blob = new Blob([data, ...replay.snapshot()]);
export const sent: Promise<Response> = fetch("/replay", { method: "POST", body: data });
export const hash: Promise<ArrayBuffer> = crypto.subtle.digest("SHA-256", data);
export const { signal } = new AbortController();
export const waits = replay.tables.memory.sampleWhenReady(1, { signal });
export const dataset = openRlds(new URL("https://example.org/data/"), { signal, fetch });
export const module: WebAssembly.Module = await WebAssembly.compileStreaming(fetch("core.wasm"));
export const own = new Replay({ spec: { x: f32() }, module });
// @ts-expect-error a signal, not its controller
replay.tables.memory.sampleWhenReady(1, { signal: new AbortController() });
