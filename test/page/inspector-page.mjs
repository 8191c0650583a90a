// The page of the inspector tests: `?where=page`, `port` or `worker` selects the place of the Replay.
import "../../dist/inspector.js";

const where = new URLSearchParams(location.search).get("where") ?? "page";
const inspector = document.querySelector("replay-inspector");
globalThis.inspector = inspector;

if (where === "page") {
  const { world } = await import("./inspector-world.mjs");
  const made = world();
  globalThis.made = made;
  for (let i = 0; i < 3000; i++) made.step();
  inspector.replay = made.replay;
  (async () => {
    for (;;) {
      await inspector.turn();
      for (let i = 0; i < 4; i++) made.step();
      await new Promise((resolve) => setTimeout(resolve, 4));
    }
  })();
} else {
  const worker = new Worker(new URL("./inspector-worker.mjs", import.meta.url), { type: "module" });
  globalThis.worker = worker;
  if (where === "port") {
    const { port1, port2 } = new MessageChannel();
    inspector.port = port1;
    worker.postMessage({ show: "port", port: port2 }, [port2]);
  } else {
    inspector.port = worker;
    worker.postMessage({ show: "self" });
  }
}
document.title = "ready";
