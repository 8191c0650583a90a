/** Implements a proxy that simulates a faulty connection between a client and a server. */

import type { AddressInfo } from "node:net";
import { createServer, connect as dial, type Server, type Socket } from "node:net";

export interface Way {
  /** Maps bytes from the server to the client, as they arrive on the `connection`th connection. */
  back?(bytes: Buffer, connection: number): Buffer;
  /** Maps bytes in the other direction. */
  there?(bytes: Buffer, connection: number): Buffer;
  /** Whether the connection ends after these bytes. */
  isCut?(connection: number): boolean;
  /** Whether bytes are forwarded one by one. */
  readonly isSlow?: boolean;
}

export class Between {
  readonly address: string;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  connections = 0;

  private constructor(server: Server) {
    this.#server = server;
    this.address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async start(port: number, way: Way): Promise<Between> {
    const server = createServer({ noDelay: true });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const proxy = new Between(server);
    server.on("connection", (here: Socket) => {
      const connection = proxy.connections++;
      const far = dial({ port, host: "127.0.0.1", noDelay: true });
      const join = (from: Socket, to: Socket, pass: Way["back"]) => {
        proxy.#sockets.add(from);
        from.on("error", () => {});
        from.on("close", () => {
          proxy.#sockets.delete(from);
          to.destroy();
        });
        from.on("data", (bytes) => {
          const passed = pass === undefined ? bytes : pass(bytes, connection);
          if (way.isSlow) for (const byte of passed) to.write(Buffer.of(byte));
          else if (passed.length > 0) to.write(passed);
          if (way.isCut?.(connection)) to.end(() => from.destroy());
        });
      };
      join(far, here, way.back);
      join(here, far, way.there);
    });
    return proxy;
  }

  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}
