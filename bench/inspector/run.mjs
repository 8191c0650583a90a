// Measures the cost of the inspector per frame of a page, with 1 M steps in the store: `npm run bench:inspector [-- --check]`. Each launch is a separate page.
// Results are medians of all launches.
import { ISOLATED } from "../../build/pages.mjs";
import { root } from "../../build/step.mjs";
import { Browsers } from "../../test/everywhere/browsers.mjs";
import { median } from "../measure.mjs";

const LAUNCHES = 5;
/** The limit on the median of the inspector's time per frame, in ms. */
const MOST = 4;

const browsers = new Browsers();
const all = [];
for (let k = 0; k < LAUNCHES; k++) all.push(await browsers.lines("chromium", root, { path: "/bench/inspector/page.html", headers: ISOLATED }));
await browsers.close();

const of = (figure) => median(all.map((result) => result[figure]));
const ms = (value) => `${value.toFixed(2)} ms`;
console.log(`${of("items")} items, ${of("frames")} frames, the inspector worked in ${of("worked")} of them`);
console.log(`of these: median ${ms(of("median"))}, p99 ${ms(of("p99"))}, worst ${ms(of("worst"))}; over all frames ${ms(of("mean"))} a frame`);
const holds = of("median") <= MOST;
console.log(`${holds ? "holds " : "MISSED"} Chromium: the median of frames with work at most ${MOST} ms`);
if (!holds && process.argv.includes("--check")) process.exitCode = 1;
