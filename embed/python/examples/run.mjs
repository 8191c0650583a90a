// Runs a game in headless Chromium from whose steps PyTorch learns live: `npm run example:python [-- GOAL]`. It exits with 0 once the return is reached. Ctrl-C
// ends all of its processes.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";
import { CHROMIUM_FLAGS, runtimes } from "../../../build/runtimes.mjs";
import { made, PROGRAM, torch } from "../tests/python.mjs";

const LEARNER = join(import.meta.dirname, "live.py");

const missing = made() ?? torch() ?? (runtimes().chromium === undefined ? "there is no Chromium: npm run runtimes" : undefined);
if (missing !== undefined) throw new Error(`example:python cannot run: ${missing}`);

const env = { ...process.env, PYTHONDONTWRITEBYTECODE: "1", PYTHONPATH: join(import.meta.dirname, "..") };
// The learner has its own process group, so that Ctrl-C signals it once, from here.
const learner = spawn(PROGRAM, [LEARNER, ...process.argv.slice(2)], { env, stdio: ["ignore", "pipe", "inherit"], detached: true });
const ended = new Promise((resolve) => learner.once("exit", (code) => resolve(code ?? 1)));
let isStopped = false;
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => {
    if (!isStopped) learner.kill("SIGINT");
    isStopped = true;
  });
}
const browser = await chromium.launch({
  executablePath: runtimes().chromium,
  args: CHROMIUM_FLAGS,
  handleSIGINT: false,
  handleSIGTERM: false,
  handleSIGHUP: false,
});
const lines = createInterface({ input: learner.stdout });
lines.once("line", async (address) => {
  console.log(`the game is at ${address}`);
  try {
    const page = await browser.newPage();
    page.on("pageerror", (error) => isStopped || console.error(`the page: ${error.message}`));
    await page.goto(address);
  } catch (error) {
    if (isStopped) return;
    console.error(`the page: ${error.message}`);
    learner.kill("SIGINT");
  }
  lines.on("line", (line) => console.log(line));
});
const code = await ended;
await browser.close();
process.exit(isStopped ? 130 : code);
