// Shows a Replay in a worker over the worker's own port, or over a port that the page sends.
import { serveInspector } from "../../dist/inspector.js";
import { world } from "./inspector-world.mjs";

const { replay, step, steps } = world();
let inspected;

async function run() {
  for (let i = 0; i < 3000; i++) step();
  for (;;) {
    await inspected?.turn();
    step();
    if (steps() % 20 === 0) await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

addEventListener("message", ({ data }) => {
  if (data?.show === "port") inspected = serveInspector(replay, data.port);
  if (data?.show === "self") inspected = serveInspector(replay, globalThis);
  if (data?.ask === "steps") postMessage({ steps: steps() });
  if (data?.ask === "close") inspected.close();
});
// Other messages on the port are ignored.
postMessage({ other: true });
run();
