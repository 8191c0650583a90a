/** What a page has to load. */
import { fileURLToPath } from "node:url";
import { BUDGET, sizes } from "../../build/sizes.mjs";
import { dist } from "../package.mjs";

async function fact() {
  const { readable } = await sizes(fileURLToPath(dist));
  return { ours: readable, rival: BUDGET };
}

export const cases = [{ name: "main entry with the core, gzip", unit: "bytes", rivalName: "limit", limit: 1, fact }];
