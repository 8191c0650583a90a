// Creates docs/page.png, which shows the page as a visitor sees it after the agent has learned: `npm run page:picture`.
import { statSync } from "node:fs";
import { chromium } from "playwright-core";
import { PAGE } from "../../build/page.mjs";
import { pages } from "../../build/pages.mjs";
import { CHROMIUM_FLAGS, runtimes } from "../../build/runtimes.mjs";

const OUT = "docs/page.png";
const MOST = 200_000;
/** The number of steps after which the agent has learned its task and the page shows a curve. */
const STEPS = 8000;

const { chromium: executablePath } = runtimes();
if (executablePath === undefined) throw new Error("Chromium is not installed: npm run test:page installs it on Debian, as root");
const { address, end } = await pages(0, PAGE);
const browser = await chromium.launch({ executablePath, args: CHROMIUM_FLAGS });
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  await page.goto(`${address}/#live`);
  await page.locator(".segments label", { hasText: "Full speed" }).click();
  const steps = page.locator(".live .figures dd").first();
  // Before the first step, the page shows no number.
  while (!(Number((await steps.innerText()).replaceAll(",", "")) >= STEPS)) await page.waitForTimeout(500);
  await page.locator(".segments label", { hasText: "1×" }).click();
  await page.waitForTimeout(2000);
  await page.screenshot({ path: OUT, caret: "initial" });
  const { size } = statSync(OUT);
  if (size > MOST) throw new Error(`${OUT} has ${size} bytes, and may have ${MOST}`);
  console.log(`${OUT}: ${size} bytes`);
} finally {
  await browser.close();
  await end();
}
