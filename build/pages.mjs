// Serves pages of this project, such as those in examples/, on this machine, over loopback only.
import { root } from "./steps.mjs";

/** The headers for a page that needs a clock with a resolution finer than 0.1 ms. */
export const ISOLATED = { "cross-origin-opener-policy": "same-origin", "cross-origin-embedder-policy": "require-corp" };

/** Serves the files of a folder, by default of the project. Returns the address, and a function that stops the server. */
export async function pages(port, servedir = root) {
  const { context, stop } = await import("esbuild");
  const server = await context({ logLevel: "error" });
  const { port: given } = await server.serve({ host: "127.0.0.1", port, servedir });
  return {
    address: `http://127.0.0.1:${given}`,
    async end() {
      await server.dispose();
      await stop();
    },
  };
}
