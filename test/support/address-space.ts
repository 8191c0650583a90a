/**
 * Collects unused WebAssembly memories between tests. Each memory takes 10 GiB of addresses until it is collected, and V8 collects them late, because nearly
 * all of them are empty. A process has 128 TiB of addresses, and whole suites create more memories than fit in it.
 */
import { readFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach } from "vitest";
import { whole } from "./size.ts";

/** The limit in pages of 4 KiB: 16 TiB. */
const LIMIT = 2 ** 32;

if (whole && process.platform === "linux") {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  afterEach(() => {
    if (Number.parseInt(readFileSync("/proc/self/statm", "latin1"), 10) > LIMIT) collect();
  });
}
