/** Starts a server of raw connections, whose responses the test defines. */
import { type AddressInfo, createServer, type Socket } from "node:net";

/** @param first handles each connection */
export async function listen(first: (socket: Socket) => void): Promise<{ readonly address: string; close(): void }> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on("error", () => {});
    first(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}
