/** Ports as pages and workers have them: `self` in a worker is a Window where a project has the types of pages. */
import { f32, Replay } from "reprise";
import { serveInspector } from "reprise/inspector";
import { type PortLike, remoteWriter } from "reprise/remote";

const spec = { x: f32() };
const replay = new Replay({ spec, tables: { memory: { maxSize: 1 } } });
const { port1 } = new MessageChannel();
export const inspected = serveInspector(replay, self);
export const writer = await remoteWriter(self, { spec });
export const ports: readonly PortLike[] = [self, port1, new Worker("actor.js")];
for (const port of ports) await replay.acceptWriter(port);
// @ts-expect-error no port
serveInspector(replay, { postMessage: 1 });
/** A port of one's own. */
export class Own implements PortLike {
  readonly sent: unknown[] = [];
  postMessage(message: unknown, transfer: readonly object[] = []): void {
    this.sent.push(message, transfer.length);
  }
}
