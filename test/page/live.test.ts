/** Tests the room Live as a visitor uses it: the agent learns, and its buttons and keys work. */
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { ISOLATED, inBrowsers, inWorker, type Open, until } from "./support.ts";

/** Returns a number that the room shows, or NaN if it has none yet. */
async function figure(page: Page, name: string): Promise<number> {
  const entry = page.locator(".live .figures div", { has: page.getByText(name, { exact: true }) });
  const text = await entry.locator("dd").innerText();
  return Number(text.replace(/[,%]/g, ""));
}

const steps = (page: Page) => figure(page, "Steps");
/** Returns a button of the room. The inspector has some buttons with the same names. */
const button = (page: Page, name: string) => page.locator(".live .column").getByRole("button", { name, exact: true });
const press = (page: Page, name: string) => button(page, name).click();
/** Returns a button of the inspector. */
const looking = (page: Page, name: string) => page.locator("replay-inspector").getByRole("button", { name, exact: true });
const speed = (page: Page, text: string) => page.locator(".segments label", { hasText: text }).click();

/** Opens the room and waits until the agent has made its first step. */
async function live(open: Open, path = "#live", options = {}): Promise<Page> {
  const { page } = await open(path, options);
  await until(
    () => steps(page),
    (count) => count > 0,
    "the first step",
  );
  return page;
}

/** Waits until a paused agent has stopped, and returns its number of steps. */
async function still(page: Page): Promise<number> {
  // The agent finishes its current work first.
  let last = await steps(page);
  return until(
    async () => {
      const before = last;
      await page.waitForTimeout(300);
      last = await steps(page);
      return last === before ? last : Number.NaN;
    },
    (count) => !Number.isNaN(count),
    "a pause",
  );
}

inBrowsers((open, name) => {
  it("records the screens of a game as packed frames, and shows drawn frames", async () => {
    const { page } = await open("#live");
    const text = (name: string) =>
      page
        .locator(".live .figures div", { has: page.getByText(name, { exact: true }) })
        .locator("dd")
        .innerText();
    const screens = async () => Number((await text("Screens")).replace(/,/g, ""));
    const first = await until(screens, (count) => count > 300, "three hundred screens");
    await until(screens, (count) => count > first, "more screens");
    expect(Number.parseFloat(await text("Ratio"))).toBeGreaterThan(10);
    // None of the four screens is black, because each shows the walls of the game.
    const shades = await page.getByLabel("The four screens of one observation, drawn from the memory").evaluate((canvas) => {
      const { width } = canvas as HTMLCanvasElement;
      const { data } = ((canvas as HTMLCanvasElement).getContext("2d") as CanvasRenderingContext2D).getImageData(0, 0, width, 1);
      return [0, 1, 2, 3].map((k) => data[4 * (k * 84 + 40)]);
    });
    expect(shades[3]).toBe(90);
  });

  it("learns until greedy episodes last several times as long as untrained ones", async () => {
    const page = await live(open);
    await speed(page, "Full speed");
    // Episodes of an untrained policy last 22 steps on average. The algorithm does not depend on the browser, so Firefox need not reach the same mean.
    const wanted = name === "chromium" ? 150 : 60;
    const greedy = await until(
      () => figure(page, "Greedy mean"),
      (mean) => mean > wanted,
      `a greedy mean above ${wanted}`,
      220_000,
    );
    expect(greedy).toBeLessThanOrEqual(500);
    expect(await figure(page, "In the memory")).toBeGreaterThan(0);
    expect(await steps(page)).toBeGreaterThanOrEqual(name === "chromium" ? 2000 : 200);
  });

  it("pauses, steps and continues with buttons and keys", async () => {
    const page = await live(open);
    await press(page, "Pause");
    const first = await still(page);
    await press(page, "Step");
    await until(
      () => steps(page),
      (count) => count === first + 1,
      "one more step",
    );
    await page.locator("h1").click();
    await page.keyboard.press(".");
    await until(
      () => steps(page),
      (count) => count === first + 2,
      "one more step",
    );
    expect(await still(page)).toBe(first + 2);
    await page.keyboard.press("Space");
    await until(
      () => steps(page),
      (count) => count > first + 10,
      "more steps",
    );
    await page.keyboard.press("Space");
    await still(page);
    // If a button has the focus, only the button handles the key, not the room.
    await button(page, "Play").focus();
    await page.keyboard.press("Space");
    await button(page, "Pause").waitFor();
  });

  it("shows its Replay in the inspector, whose buttons work like those of the room", async () => {
    const page = await live(open);
    const inspector = page.locator("replay-inspector");
    const items = async () =>
      Number(/([\d,]+) of 20,000 items/.exec(await inspector.getByText("of 20,000 items").first().innerText())?.[1]?.replaceAll(",", "") ?? Number.NaN);
    const some = await until(items, (count) => count > 50, "items in the memory");
    await until(items, (count) => count > some, "more items in the memory");
    await looking(page, "Pause").click();
    await button(page, "Play").waitFor();
    const stood = await still(page);
    await looking(page, "Step").click();
    await until(
      () => steps(page),
      (count) => count === stood + 1,
      "one more step",
    );
    await looking(page, "Draw a batch").click();
    const drawn = inspector.getByRole("table").locator("tbody tr");
    await until(
      () => drawn.count(),
      (count) => count === 8,
      "a batch of 8",
    );
    await press(page, "Play");
    await looking(page, "Pause").waitFor();
    await until(
      () => steps(page),
      (count) => count > stood + 10,
      "more steps",
    );
  });

  it("plays at the selected speed", async () => {
    const { page } = await open("#look");
    // The worker's clock advances only with its timeouts, and by about 4 s after each change of the speed.
    const clock = `let [now, end] = [0, 0];
      performance.now = () => (now += 0.001);
      const wait = setTimeout;
      globalThis.setTimeout = (run, ms) => (now < end ? wait(() => { now += ms; run(); }) : 0);
      addEventListener("message", ({ data }) => { if (data.type === "pace") end = now + 4000; });`;
    await inWorker(page, "live", clock);
    await page.getByRole("link", { name: "Live" }).click();
    await until(
      () => steps(page),
      (count) => count >= 795,
      "4 s of 200 steps",
    );
    const first = await still(page);
    expect(first).toBeLessThanOrEqual(801);
    await speed(page, "1×");
    await until(
      () => steps(page),
      (count) => count >= first + 198,
      "4 s of 50 steps",
    );
    expect(await still(page)).toBeLessThanOrEqual(first + 201);
  });

  it("redraws the picture while it plays", async () => {
    const page = await live(open);
    // Playwright's element screenshots inject a style that the policy of the page forbids.
    const picture = () => page.evaluate(() => document.querySelector<HTMLCanvasElement>("canvas.stage")?.toDataURL());
    const first = await picture();
    await until(
      async () => (await picture()) !== first,
      (other) => other,
      "another picture",
    );
  });

  it("restarts with another seed, and stops the previous agent", async () => {
    const page = await live(open);
    await until(
      () => steps(page),
      (count) => count > 300,
      "300 steps",
    );
    // The speed is low enough that even a busy machine sees the low count before it grows.
    await speed(page, "1×");
    await press(page, "Start again");
    await until(
      () => steps(page),
      (count) => count < 250,
      "a new beginning",
    );
    await until(
      () => page.workers().length,
      (count) => count === 2,
      "the end of the agent before: its successor is left, and the game of the screens",
    );
    await page.evaluate(() => {
      location.hash = "#live?seed=7";
    });
    await until(
      () => steps(page),
      (count) => count > 0,
      "the first step",
    );
    await until(
      () => page.workers().length,
      (count) => count === 2,
      "two workers alone",
    );
  });

  for (const colorScheme of ["light", "dark"] as const) {
    it(`fits 360 pixels in ${colorScheme}`, async () => {
      const page = await live(open, "", { viewport: { width: 360, height: 740 }, colorScheme });
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
      for (const button of await page.getByRole("button").all()) {
        const box = await button.boundingBox();
        if (box !== null) expect([box.x >= 0, box.x + box.width <= 360]).toEqual([true, true]);
      }
    });
  }
});

describe("on a server that isolates its pages", () => {
  inBrowsers((open) => {
    it("learns in an isolated page", async () => {
      const page = await live(open);
      expect(await page.evaluate(() => crossOriginIsolated)).toBe(true);
      await speed(page, "Full speed");
      await until(
        () => steps(page),
        (count) => count > 700,
        "700 steps, of which it learns from 200",
      );
    });
  }, ISOLATED);
});
