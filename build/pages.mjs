// Shows the pages of examples/ on this machine, over loopback only.
import { root } from "./steps.mjs";

/** Serves the project's files; its address. It lives as long as the process. */
export async function pages(port) {
  const { context } = await import("esbuild");
  const server = await context({ logLevel: "error" });
  const { port: given } = await server.serve({ host: "127.0.0.1", port, servedir: root });
  return `http://127.0.0.1:${given}`;
}
