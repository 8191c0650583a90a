/**
 * The room Live, minute after minute: what the browser holds in memory does not grow once the agent's memory is full.
 * `npm run test:page -- memory --minutes 5` takes that long; without minutes, it is half of one.
 */
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { inBrowsers } from "./support.ts";

const minutes = Number(process.env.REPRISE_PAGE_MINUTES ?? 0.5);
/** Bytes that a browser may differ by from one half of a minute to another. */
const NOISE = 40 * 2 ** 20;

/** Bytes of memory of all processes below this one: those of the browser. Pages that processes share count by their share. */
function held(): number {
  const parents = new Map<number, number>();
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    const status = read(`/proc/${pid}/status`);
    parents.set(Number(pid), Number(/^PPid:\s*(\d+)/m.exec(status)?.[1] ?? 0));
  }
  const isOurs = (pid: number): boolean => {
    const parent = parents.get(pid) ?? 0;
    return parent === process.pid || (parent > 1 && isOurs(parent));
  };
  const kibibytes = [...parents.keys()].filter(isOurs).map((pid) => Number(/^Pss:\s*(\d+)/m.exec(read(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0));
  return 1024 * kibibytes.reduce((sum, each) => sum + each, 0);
}

/** A process may have ended since it was listed. */
function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

const middle = (values: readonly number[]) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] as number;

describe.runIf(process.platform === "linux")("memory", () => {
  inBrowsers((open, name) => {
    it(`is flat over ${minutes} minutes of learning`, { timeout: (minutes + 2) * 60_000 }, async () => {
      const { page } = await open("#live");
      await page.locator(".segments label", { hasText: "16×" }).click();
      // Code is compiled, and pictures have their buffers.
      await page.waitForTimeout(10_000);
      const samples: number[] = [];
      for (const end = Date.now() + minutes * 60_000; Date.now() < end; await page.waitForTimeout(1000)) samples.push(held());
      const third = Math.floor(samples.length / 3);
      const [early, late] = [middle(samples.slice(0, third)), middle(samples.slice(-third))];
      process.stderr.write(
        `${name}: ${samples.length} samples, ${(early / 2 ** 20).toFixed(0)} MiB in the first third, ${(late / 2 ** 20).toFixed(0)} MiB in the last\n`,
      );
      expect(early).toBeGreaterThan(20 * 2 ** 20);
      expect(late - early).toBeLessThan(NOISE);
    });
  });
});
