/** Measures the bytes that a page loads: the files as published, and as minified by the page's own bundler. No limit applies. */
import { fileURLToPath } from "node:url";
import { sizes } from "../../build/sizes.mjs";
import { dist } from "../package.mjs";

async function fact() {
  const { readable, minified } = await sizes(fileURLToPath(dist));
  return { ours: readable, rival: minified };
}

export const cases = [{ name: "main entry with the core, gzip", unit: "bytes", rivalName: "minified", fact }];
