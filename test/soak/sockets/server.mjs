// Runs a WebSocket server whose Replay is stored in a directory. It is killed at random moments and restarted. `node server.mjs DIR STEPS` sends its port to
// its parent.
import { f32, fifo, i32, Replay } from "reprise";
import { WebSocketServer } from "ws";

const [dir, steps] = process.argv.slice(2);
const spec = { actor: i32(), n: i32(), x: f32(4) };
const replay = await Replay.open({ dir, spec, tables: { t: { maxSize: Number(steps), sampler: fifo() } }, logger: null });
const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
server.on("connection", (socket, { url }) => {
  const options = { name: url, items: [{ table: "t", length: 1 }], confirm: "disk", maxInFlight: 512 };
  replay.acceptWriter(socket, options).catch(({ code, message }) => process.send({ refused: `${code}: ${message}` }));
});
server.on("listening", () => process.send({ port: server.address().port }));
process.on("message", (question) => {
  if (question === "memory") process.send({ resident: process.memoryUsage().rss, writers: replay.writers.length });
  if (question === "end") {
    replay.dispose();
    process.exit(0);
  }
});
