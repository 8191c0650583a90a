/** What a page has to load: the files as they are, and as its own bundler makes them smaller. Reported; there is no limit. */
import { fileURLToPath } from "node:url";
import { sizes } from "../../build/sizes.mjs";
import { dist } from "../package.mjs";

async function fact() {
  const { readable, minified } = await sizes(fileURLToPath(dist));
  return { ours: readable, rival: minified };
}

export const cases = [{ name: "main entry with the core, gzip", unit: "bytes", rivalName: "minified", fact }];
