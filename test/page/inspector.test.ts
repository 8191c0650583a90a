/** Tests the inspector in Chromium and Firefox as a user operates it, with a strict policy: in the page of its Replay, over a port, and with a worker. */
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runtimes } from "../../build/runtimes.mjs";
import { Browsers } from "../everywhere/browsers.mjs";
import { root } from "../support/core.ts";
import { whole } from "../support/size.ts";
import { until as answered, type Served, serve } from "./support.ts";

const here = runtimes();
const required = process.env.REPRISE_RUNTIMES === "all" || process.env.REPRISE_PAGE === "all";
const POLICY = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; style-src 'self'; connect-src 'self'; img-src data:";
/** A policy under which no text can become markup or a program. Pages that create a worker do not use it, because they need a Trusted Types policy. */
const TRUSTED = `${POLICY}; require-trusted-types-for 'script'; trusted-types 'none'`;

let served: Served;
const browsers = new Browsers();

beforeAll(async () => {
  served = await serve(root, (url) => ({ "content-security-policy": url.includes("where=page") ? TRUSTED : POLICY }));
});

afterAll(async () => {
  await browsers.close();
  await served.end();
});

interface Look {
  readonly width?: number;
  readonly dark?: boolean;
}

/** Opens the page, which must not log or throw anything. */
async function opened(name: string, where: string, { width = 1000, dark = false }: Look = {}) {
  const browser = await browsers.get(name);
  const page: Page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme: dark ? "dark" : "light" });
  const said: string[] = [];
  page.on("console", (message) => said.push(message.text()));
  page.on("pageerror", (error) => said.push(String(error)));
  await page.goto(`${served.address}test/page/inspector.html?where=${where}`);
  await until(async () => (await text(page.locator(".status"))) === "Watching.");
  return { page, said };
}

const text = async (locator: Locator) => (await locator.first().textContent()) ?? "";

const until = (isSo: () => Promise<boolean>) => answered(isSo, Boolean, "what is waited for", 30_000);

/** Returns the value after a name in a panel. */
const fact = (page: Page, name: string) => text(page.locator(`dt:text-is("${name}") + dd`));
const inserted = async (page: Page) => Number((await fact(page, "Inserted")).replaceAll(",", ""));
const settled = (page: Page) => page.waitForTimeout(1500);

describe.each(["chromium", "firefox"] as const)("%s", (name) => {
  describe.runIf(required || (whole && here[name] !== undefined)).each(["page", "port", "worker"])("a Replay: %s", (where) => {
    it("is shown while it fills, can be paused and stepped, and returns a batch to inspect", async () => {
      const { page, said } = await opened(name, where);
      await until(async () => (await inserted(page)) > 3100);
      const before = await inserted(page);
      await until(async () => (await inserted(page)) > before);
      for (const title of ["Priorities", "Weights", "Ages", "Times sampled", "Times sampled over the store", "Episodes"]) {
        const plot = page.locator("figure", { has: page.locator(`figcaption:text-is("${title}")`) });
        await until(async () => /\d/.test((await plot.getByRole("img").getAttribute("aria-label")) ?? ""));
        expect(
          await plot.locator("canvas").evaluate((canvas: HTMLCanvasElement) => {
            const pixels = canvas.getContext("2d")?.getImageData(0, 0, canvas.width, canvas.height).data ?? [];
            return new Set(new Uint32Array(new Uint8Array(pixels).buffer)).size;
          }),
          title,
        ).toBeGreaterThan(3);
      }

      await page.getByRole("button", { name: "Pause" }).press("Enter");
      await settled(page);
      const paused = await inserted(page);
      expect(await text(page.locator(".status"))).toBe("Paused.");
      await settled(page);
      expect(await inserted(page)).toBe(paused);
      // A turn is one step in the worker and four in the page. Each step creates an item, and a final step creates one more. The first two steps of an episode
      // end no item.
      let stepped = paused;
      for (let turns = 0; turns < 3 && stepped === paused; turns++) {
        await page.getByRole("button", { name: "Step" }).click();
        await settled(page);
        stepped = await inserted(page);
      }
      expect(stepped - paused).toBeGreaterThan(0);
      expect(stepped - paused).toBeLessThanOrEqual(5);
      await settled(page);
      expect(await inserted(page)).toBe(stepped);

      // The arrow key raises the number of items to 9.
      await page.getByLabel("Items", { exact: true }).last().press("ArrowUp");
      await page.getByRole("button", { name: "Draw a batch" }).click();
      const batch = page.getByRole("table", { name: "A batch" });
      await until(async () => (await batch.getByRole("button").count()) === 9);
      await batch.getByRole("button").first().click();
      const item = page.getByRole("region", { name: "Chosen item" });
      await until(async () => /^Item \d+ of table play$/.test(await text(item.getByRole("heading", { level: 3 }))));
      expect(await text(item.locator("p"))).toMatch(/^Priority [\d.]+: its share is priority\^0.6 = [\d.]+ of all weights; that is [\d.]+ times/);
      expect(await item.getByRole("img", { name: /^image, step \d$/ }).count()).toBe(3);
      // Strings of a store are shown as plain text.
      expect(await text(item.locator("pre"))).toContain("stack <b>the red</b> cube");
      expect(await item.locator("b").count()).toBe(0);
      expect(await page.locator("replay-inspector img").count()).toBe(0);

      // The inspector reports a key whose item has left the table or never existed.
      await page.getByLabel("Key").fill("123456789");
      await page.getByLabel("Key").press("Enter");
      await until(async () => (await text(item.locator("p"))).startsWith("It is no longer in the table"));

      await page.getByRole("button", { name: "Resume" }).click();
      await until(async () => (await inserted(page)) > stepped + 20);
      await page.getByLabel("Table", { exact: true }).selectOption("<img src=x onerror=alert(1)>");
      await until(async () => (await fact(page, "Sampler")) === "uniform");
      expect(said).toEqual([]);
      await page.close();
    });
  });

  describe.runIf(required || (whole && here[name] !== undefined))("the inspector", () => {
    it("fits 360 pixels in dark mode, and shows its numbers as tables", async () => {
      const { page, said } = await opened(name, "page", { width: 360, dark: true });
      await settled(page);
      await page.locator("summary").first().press("Enter");
      await until(async () => (await page.getByRole("table", { name: "Priorities" }).getByRole("row").count()) > 3);
      await page.getByRole("button", { name: "Draw a batch" }).click();
      await settled(page);
      const wide = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      expect(wide[0]).toBeLessThanOrEqual(wide[1] as number);
      const back = await page.locator("replay-inspector").evaluate((element) => getComputedStyle(element).backgroundColor);
      // Firefox under automation may only support its own color scheme.
      const isDark = await page.evaluate(() => matchMedia("(prefers-color-scheme: dark)").matches);
      expect(back).toBe(isDark ? "rgb(20, 23, 28)" : "rgb(255, 255, 255)");
      if (name === "chromium") expect(isDark).toBe(true);
      expect(said).toEqual([]);
      await page.close();
    });

    it("shows the result of a step, even if no frame is drawn for a while", async () => {
      const { page, said } = await opened(name, "page");
      await page.getByRole("button", { name: "Pause" }).click();
      await settled(page);
      const paused = await inserted(page);
      await page.evaluate(() => {
        (globalThis as unknown as { inspector: { step(): void } }).inspector.step();
        for (const end = performance.now() + 1500; performance.now() < end; );
      });
      await until(async () => (await inserted(page)) > paused);
      expect(said).toEqual([]);
      await page.close();
    });

    it("clears an error message by itself", async () => {
      const { page, said } = await opened(name, "page");
      const status = page.locator(".status");
      await page.evaluate(() => {
        const { replay } = (globalThis as unknown as { made: { replay: { stats?: () => unknown } } }).made;
        replay.stats = () => {
          delete replay.stats;
          throw new RangeError("one number was wrong");
        };
      });
      await until(async () => (await status.getAttribute("class"))?.includes("wrong") === true);
      expect(await text(status)).toBe("one number was wrong");
      await until(async () => (await text(status)) === "Watching.");
      expect(await status.getAttribute("class")).not.toContain("wrong");
      expect(said).toEqual([]);
      await page.close();
    });

    it("reports a disposed Replay, keeps its display, and stops its requests", async () => {
      const { page, said } = await opened(name, "page");
      await until(async () => (await inserted(page)) > 3000);
      await page.evaluate(() => {
        const { made } = globalThis as unknown as { made: { step(): void; replay: { dispose(): void; stats(): unknown } } };
        made.step = () => {};
        const stats = made.replay.stats.bind(made.replay);
        made.replay.stats = () => {
          Object.assign(globalThis, { asked: ((globalThis as { asked?: number }).asked ?? 0) + 1 });
          return stats();
        };
        made.replay.dispose();
      });
      await until(async () => (await text(page.locator(".status"))) === "The Replay was disposed.");
      await settled(page);
      expect(await page.evaluate(() => (globalThis as { asked?: number }).asked)).toBe(1);
      expect(await inserted(page)).toBeGreaterThan(3000);
      for (const button of ["Pause", "Step", "Draw a batch", "Look at an item"])
        expect(await page.getByRole("button", { name: button }).isDisabled()).toBe(true);
      expect(said).toEqual([]);
      await page.close();
    });

    it("reports when the program stops showing its Replay, and resumes a Replay on removal", async () => {
      const { page, said } = await opened(name, "worker");
      await page.evaluate(() => (globalThis as unknown as { worker: Worker }).worker.postMessage({ ask: "close" }));
      await until(async () => (await text(page.locator(".status"))).startsWith("The program"));
      await page.evaluate(() => document.querySelector("replay-inspector")?.remove());
      await page.close();

      const other = await opened(name, "page");
      await other.page.getByRole("button", { name: "Pause" }).click();
      const steps = () => other.page.evaluate(() => (globalThis as unknown as { made: { steps(): number } }).made.steps());
      await settled(other.page);
      const before = await steps();
      await other.page.evaluate(() => {
        const element = document.querySelector("replay-inspector") as HTMLElement;
        element.remove();
      });
      // The paused program continues.
      await until(async () => (await steps()) > before + 10);
      await other.page.evaluate(() => document.body.append((globalThis as unknown as { inspector: HTMLElement }).inspector));
      await until(async () => (await text(other.page.locator(".status"))) === "Watching.");
      expect([...said, ...other.said]).toEqual([]);
      await other.page.close();
    });
  });
});

describe.runIf(required || (whole && here.chromium !== undefined))("memory", () => {
  it("does not grow while the inspector watches", async () => {
    const { page } = await opened("chromium", "page");
    const session = await page.context().newCDPSession(page);
    const used = async () => {
      await session.send("HeapProfiler.collectGarbage");
      return ((await session.send("Runtime.getHeapUsage")) as { usedSize: number }).usedSize;
    };
    const nodes = async () => ((await session.send("Memory.getDOMCounters")) as { nodes: number }).nodes;
    await page.waitForTimeout(6000);
    const [before, beforeNodes] = [await used(), await nodes()];
    await page.waitForTimeout(Number(process.env.REPRISE_PAGE_MINUTES ?? 0.2) * 60_000);
    expect((await used()) - before).toBeLessThan(2 * 2 ** 20);
    expect((await nodes()) - beforeNodes).toBeLessThan(50);
    await page.close();
  }, 900_000);
});
