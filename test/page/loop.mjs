// Creates docs/page-loop.png and docs/page-loop-dark.png, which show the room Live in a few seconds, from the first steps to a balanced pole: `npm run
// page:picture`.
import { writeFileSync } from "node:fs";
import { decode } from "fast-png";
import { chromium } from "playwright-core";
import { PAGE } from "../../build/page.mjs";
import { pages } from "../../build/pages.mjs";
import { CHROMIUM_FLAGS, runtimes } from "../../build/runtimes.mjs";
import { apng } from "./apng.mjs";

const OUT = { light: "docs/page-loop.png", dark: "docs/page-loop-dark.png" };
const MOST = 800_000;
/** The frames while the agent learns: one per `steps` steps. */
const LEARNING = { frames: 18, steps: 400, delayMs: 160 };
/** The frames after the learning, at the speed of a real pole. */
const BALANCED = { frames: 16, delayMs: 120 };
/** The display time of the last frame in milliseconds. */
const REST_MS = 1500;

const { chromium: executablePath } = runtimes();
if (executablePath === undefined) throw new Error("Chromium is not installed: npm run test:page installs it on Debian, as root");
const { address, end } = await pages(0, PAGE);
const browser = await chromium.launch({ executablePath, args: CHROMIUM_FLAGS });
try {
  for (const [colorScheme, file] of Object.entries(OUT)) {
    const page = await browser.newPage({ viewport: { width: 1280, height: 830 }, deviceScaleFactor: 0.75, colorScheme });
    await page.goto(`${address}/#live`);
    const frames = [];
    const take = async (delayMs) => {
      const clip = { x: 24, y: 136, width: 1232, height: 680 };
      frames.push({ ...decode(await page.screenshot({ clip, caret: "initial" })), delayMs });
    };
    await page.locator(".segments label", { hasText: "Full speed" }).click();
    const steps = page.locator(".live .figures dd").first();
    for (let frame = 0; frame < LEARNING.frames; frame++) {
      // Before the first step, the page shows no number.
      while (!(Number((await steps.innerText()).replaceAll(",", "")) >= frame * LEARNING.steps)) await page.waitForTimeout(50);
      await take(LEARNING.delayMs);
    }
    await page.locator(".segments label", { hasText: "1×" }).click();
    for (let frame = 0; frame < BALANCED.frames; frame++) await take(frame + 1 < BALANCED.frames ? BALANCED.delayMs : REST_MS);
    await page.close();
    const bytes = apng(frames);
    if (bytes.length > MOST) throw new Error(`${file} has ${bytes.length} bytes, and may have ${MOST}`);
    writeFileSync(file, bytes);
    console.log(`${file}: ${frames.length} frames of ${frames[0].width} × ${frames[0].height}, ${bytes.length} bytes`);
  }
} finally {
  await browser.close();
  await end();
}
