// Measures the speed of embed.wasm in its hosts, in turn: `npm run bench:embed [-- --check] [WORD …]`. Each launch is a separate process or page.
import { Browsers } from "../../test/everywhere/browsers.mjs";
import { median } from "../measure.mjs";
import { hosts } from "./hosts.mjs";

const ROUNDS = 7;

const words = process.argv.slice(2).filter((word) => !word.startsWith("--"));
const browsers = new Browsers();
const [node, ...others] = hosts(browsers).filter(
  ({ name }, i) => i === 0 || words.length === 0 || words.some((word) => name.toLowerCase().includes(word.toLowerCase())),
);
const here = others.filter(({ missing }) => missing === undefined);

const ms = (ns) => `${(ns / 1e6).toFixed(1)} ms`;
const taken = new Map([node, ...here].map((host) => [host, []]));
for (let round = 0; round < ROUNDS; round++) for (const [host, all] of taken) all.push(await host.launch(Object.keys(host.least)));
await browsers.close();

let missed = 0;
for (const [host, all] of taken) {
  for (const [file, least] of Object.entries(host.least)) {
    // The ratio is computed within each round, because the speed of the machine varies between rounds.
    const part = median(all.map((figures, round) => taken.get(node)[round][file] / figures[file]));
    const holds = part >= least;
    missed += Number(!holds);
    const verdict = host === node ? "" : `${holds ? "holds" : "MISSED"} ${part.toFixed(2)} of Node.js, at least ${+least.toFixed(2)}`;
    console.log(`${host.name.padEnd(20)} ${file.padEnd(12)} ${ms(median(all.map((figures) => figures[file]))).padStart(9)}  ${verdict}`);
  }
}
for (const { name, missing } of others) {
  if (missing === undefined) continue;
  missed++;
  console.log(`MISSED ${name}: it is not here: ${missing}`);
}
if (process.argv.includes("--check") && missed > 0) process.exitCode = 1;
