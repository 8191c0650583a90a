/** Runs actors over the WebSockets of this runtime: its server accepts, its client writes, and one connection is cut. */
import { f32, fifo, i32, Replay } from "../../dist/index.js";
import { remoteWriter, ServerChannel } from "../../dist/remote.js";

const spec = { observation: f32(2), action: i32(), reward: f32() };
const replay = new Replay({ spec, tables: { memory: { maxSize: 10_000, sampler: fifo() } } });
const accepted = [];
const options = { items: [{ table: "memory", length: 1 }], maxInFlight: 64 };
const take = async (socket) => accepted.push(await replay.acceptWriter(socket, options));

/** Starts the server of this runtime. Returns its address, and a function that stops it. */
async function listen() {
  if (globalThis.Deno) {
    const { Deno } = globalThis;
    const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
      const { socket, response } = Deno.upgradeWebSocket(request);
      take(socket);
      return response;
    });
    return { port: server.addr.port, stop: () => server.shutdown() };
  }
  if (globalThis.Bun) {
    const server = globalThis.Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: (request, self) => (self.upgrade(request, { data: {} }) ? undefined : new Response(null, { status: 400 })),
      websocket: {
        open(ws) {
          ws.data.channel = new ServerChannel(ws);
          take(ws.data.channel);
        },
        message: (ws, data) => ws.data.channel.message(data),
        close: (ws, code, reason) => ws.data.channel.end(code, reason),
      },
    });
    return { port: server.port, stop: () => server.stop(true) };
  }
  const { WebSocketServer } = await import("ws");
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  server.on("connection", take);
  await new Promise((resolve) => server.on("listening", resolve));
  return { port: server.address().port, stop: () => server.close() };
}

const { port, stop } = await listen();
const WebSocket = globalThis.WebSocket ?? (await import("ws")).WebSocket;
let socket;
const connect = () => {
  socket = new WebSocket(`ws://127.0.0.1:${port}`);
  return socket;
};
const writer = await remoteWriter(connect, { spec });
const weights = [];
writer.onmessage = ({ data }) => weights.push(data.length ?? data.pause);
for (let t = 0; t < 1000; t++) {
  await writer.append({ observation: [t, -t], action: t, reward: 1 });
  if (t === 500) socket.close(4999, "cut");
}
await writer.flush();
replay.publish(Float32Array.of(1, 2, 3));
accepted[0].send({ pause: true });
while (weights.length < 2) await new Promise((resolve) => setTimeout(resolve, 1));
await writer.close();
const { action } = replay.tables.memory.sample(1000, { replacement: false }).steps;
const inOrder = action.data.every((n, i) => n === i);
console.log(
  `sockets: ${(await accepted[0].closed).how}, ${accepted[0].steps} steps, in order: ${inOrder}, connections: ${accepted.length}, messages: ${weights}`,
);
await stop();
