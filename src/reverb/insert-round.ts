/** Distributes the inserts of single steps over the servers in turn, with one stream per server. */

import type { Channel } from "./grpc/channel.ts";
import type { InsertStream } from "./insert-stream.ts";
import type { Route, Servers } from "./servers.ts";

interface OpenStream {
  readonly stream: InsertStream;
  readonly route: Route;
}

export class InsertRound {
  readonly #servers: Servers;
  readonly #open: (route: Route) => InsertStream;
  readonly #streams = new Map<Channel, OpenStream>();
  /** Streams that continued on another server and have items on that server. The next insert for their home server uses a new stream. */
  readonly #away = new Set<InsertStream>();

  constructor(servers: Servers, open: (route: Route) => InsertStream) {
    this.#servers = servers;
    this.#open = open;
  }

  /** Returns the stream for the next insert. */
  next(): InsertStream {
    const channel = this.#servers.next();
    const existing = this.#streams.get(channel);
    if (existing?.route.isHome && !existing.stream.hasEnded) return existing.stream;
    if (existing !== undefined && !existing.stream.hasEnded) {
      this.#away.add(existing.stream);
      this.done(existing.stream);
    }
    const route = this.#servers.route(channel);
    const stream = this.#open(route);
    this.#streams.set(channel, { stream, route });
    return stream;
  }

  /** Records that an insert over this stream has ended. */
  done(stream: InsertStream): void {
    if (!this.#away.has(stream) || !stream.isIdle) return;
    this.#away.delete(stream);
    stream.close(undefined);
  }

  close(reason: unknown): void {
    for (const { stream } of this.#streams.values()) stream.close(reason);
    for (const stream of this.#away) stream.close(reason);
  }
}
