/** Uses ports as pages and workers do: `self` in a worker is a Window if a project has the types of pages. */
import { type ByteChannel, f32, Replay } from "reprise";
import { serveInspector } from "reprise/inspector";
import { type PortLike, remoteWriter, ServerChannel, type WriterTarget } from "reprise/remote";

const spec = { x: f32() };
const replay = new Replay({ spec, tables: { memory: { maxSize: 1 } } });
const { port1 } = new MessageChannel();
export const inspected = serveInspector(replay, self);
export const writer = await remoteWriter(self, { spec });
export const ports: readonly PortLike[] = [self, port1, new Worker("actor.js")];
for (const port of ports) await replay.acceptWriter(port);
// @ts-expect-error no port
serveInspector(replay, { postMessage: 1 });
const socket = new WebSocket("wss://example.org");
const channel: ByteChannel = new ServerChannel(socket);
const targets: readonly WriterTarget[] = [socket, channel, "wss://example.org", new URL("wss://example.org"), () => socket, async () => channel];
for (const target of targets) {
  const remote = await remoteWriter(target, { spec, whileOffline: "fail", reconnectTimeoutMs: Number.POSITIVE_INFINITY });
  remote.onmessage = async ({ data }) => remote.connected && data.byteLength;
}
const accepted = await replay.acceptWriter(socket, { name: "me", confirm: "disk", sessionTtlMs: 1000, limits: { stepsPerSecond: 100, frameBytes: 1 << 20 } });
await accepted.send({ pause: true });
accepted.publish(new Float32Array(3));
replay.publish(new ArrayBuffer(8));
// @ts-expect-error no channel
await remoteWriter({ send() {} }, { spec });
// @ts-expect-error no such confirmation
await replay.acceptWriter(channel, { confirm: "tape" });
/** A user-defined port. */
export class Own implements PortLike {
  readonly sent: unknown[] = [];
  postMessage(message: unknown, transfer: readonly object[] = []): void {
    this.sent.push(message, transfer.length);
  }
}
