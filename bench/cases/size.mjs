/** What a page has to load. */
import { fileURLToPath } from "node:url";
import { BUDGET, sizes } from "../../build/sizes.mjs";
import { dist } from "../package.mjs";

const { readable } = await sizes(fileURLToPath(dist));

export const cases = [{ name: "main entry with the core, gzip", unit: "bytes", rivalName: "limit", limit: 1, fact: () => ({ ours: readable, rival: BUDGET }) }];
