/** Simulates a socket server in memory. Each connection is a pair of channels that can break at any moment. */
import type { AcceptedWriter, AcceptOptions, Replay } from "../../../src/index.ts";
import { type MemoryChannel, memoryChannels } from "./support.ts";

export class MemoryServer {
  /** The Replay that currently accepts connections; undefined while the server is down. */
  replay: Replay | undefined;
  readonly options: AcceptOptions;
  /** Both ends of all connections, newest last. */
  readonly connections: (readonly [here: MemoryChannel, there: MemoryChannel])[] = [];
  readonly accepted: AcceptedWriter[] = [];
  readonly errors: Error[] = [];
  /** Called with each new connection before any message is sent. */
  onConnection: (here: MemoryChannel, there: MemoryChannel) => void = () => {};

  constructor(replay: unknown, options: object = {}) {
    this.replay = replay as Replay;
    this.options = options;
  }

  /** Opens a connection to the server; actors use this as their connect function. */
  readonly connect = (): MemoryChannel => {
    const { replay } = this;
    if (replay === undefined) throw new Error("nobody listens");
    const [here, there] = memoryChannels();
    this.connections.push([here, there]);
    this.onConnection(here, there);
    replay.acceptWriter(here, this.options as object).then(
      (writer) => this.accepted.push(writer),
      (error) => this.errors.push(error),
    );
    return there;
  };

  /** Breaks the newest connection: both ends are closed without a reason. */
  break(): void {
    this.connections.at(-1)?.[0].close();
  }

  /** Simulates the death of the process: its ends of all connections become silent. */
  die(): void {
    this.replay = undefined;
    for (const [here, there] of this.connections) {
      here.onSend = () => undefined;
      there.onSend = () => undefined;
      there.close();
    }
  }
}
