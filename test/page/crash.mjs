// Kills the room Record while it is played: `npm run crash:page [-- --runs N] [--seed N]`. Chromium shows the built folder as for any visitor, and this program
// uses only the information that the page shows.
//
// Half of the kills end the process of the tab, and the others end the whole browser. After each kill, everything that was shown as saved must still exist. At
// the end, all episodes are exported, and their states must follow from their actions. The exports stay in dist/record, so that real tools can open them.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { PAGE } from "../../build/page.mjs";
import { pages } from "../../build/pages.mjs";
import { seeded } from "../../examples/random.js";
import { Browser } from "./crash/browser.mjs";
import { exported } from "./crash/exported.mjs";
import { compare, opened, play } from "./crash/room.mjs";

const EXPORTS = "dist/record";

const { values } = parseArgs({ options: { runs: { type: "string", default: "100" }, seed: { type: "string", default: "1" } } });
const [runs, seed] = [Number(values.runs), Number(values.seed)];
const random = seeded(seed);
const profile = mkdtempSync(join(tmpdir(), "reprise-crash-page-"));
const { address, end } = await pages(0, PAGE);
const browser = new Browser(profile);
const counts = { tabs: 0, browsers: 0, opening: 0, cut: 0 };
const failures = [];
const known = new Map();
let last = { rows: [], steps: 0 };

try {
  for (let run = 0; run < runs; run++) {
    const name = `seed ${seed}, kill ${run}`;
    try {
      await once(run);
    } catch (error) {
      failures.push(`${name}: ${error.message}`);
      console.error(error.stack);
      last = { rows: [], steps: 0 };
      await browser.kill().catch(() => {});
    }
    if ((run + 1) % 10 === 0) console.log(`${run + 1} kills, ${known.size} episodes, ${last.steps} steps shown as saved, ${failures.length} failures`);
  }
  const page = await browser.page(`${address}/#record`);
  const now = await opened(page);
  compare(last, now);
  for (const row of now.rows) known.set(row.id, row);
  mkdirSync(EXPORTS, { recursive: true });
  const { episodes, steps } = await exported(page, EXPORTS, known);
  writeFileSync(join(EXPORTS, "episodes.json"), `${JSON.stringify(now.rows, null, 1)}\n`);
  console.log(`exported: ${episodes} episodes, ${steps} steps; each state follows from the seed and the actions; in ${EXPORTS}`);
} catch (error) {
  failures.push(error.message);
  console.error(error.stack);
} finally {
  await browser.kill().catch(() => {});
  await end();
  rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
}
const { tabs, browsers, opening, cut } = counts;
console.log(
  `kills: ${tabs} of the tab, ${browsers} of the browser, ${opening} of them while the room opened; ${known.size} episodes were recorded, ${cut} of them cut; ${failures.length} failures`,
);
console.log(`${runs + 1 - failures.length} passed, ${failures.length} failed`);
process.exit(failures.length === 0 ? 0 : 1);

/** Opens the room, compares it with the state before the last kill, plays, and kills the tab or the browser. */
async function once(run) {
  const page = await browser.page(`${address}/#record`);
  const kind = run % 2 === 0 ? "tab" : "browser";
  counts[`${kind}s`]++;
  if (random() < 0.1) {
    // If the room is killed while it opens, everything that was shown before must exist the next time.
    await page.waitForTimeout(random() * 400);
    counts.opening++;
    await browser.kill(kind);
    // The room may have ended an interrupted episode before the page showed that.
    last = { ...last, opening: true };
    return;
  }
  const now = await opened(page);
  compare(last, now);
  last = now;
  for (const row of now.rows) {
    if (row.ending === "cut" && !known.has(row.id)) counts.cut++;
    known.set(row.id, row);
  }
  const playing = play(page, random, (seen) => {
    last = seen;
    for (const row of seen.rows) known.set(row.id, row);
  });
  await page.waitForTimeout(300 + random() * random() * 9000);
  playing.stop();
  await browser.kill(kind);
  await playing.ended;
  // A deletion or selection may have started after the page was last read.
  if (playing.touched !== undefined) last = { ...last, touched: playing.touched };
}
