// `npm run bench [-- [--json] [WORDS]]`: every row, or those whose names contain the words. Each row runs in a process of its own, so that
// what one taught the compiler does not slow the next down; ours and its rival are in the same one, in turns.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { race } from "./measure.mjs";
import { headOf, lineOf } from "./report.mjs";

const GROUPS = ["append", "observer", "buffer", "sample", "prioritized", "gather", "pfrl", "journal", "rlds", "memory", "size", "cost"];
const { values, positionals } = parseArgs({ options: { json: { type: "boolean" }, row: { type: "string" } }, allowPositionals: true });

/** Measures a case: what each side takes, in the case's unit. */
async function measured({ unit, make, fact, rounds }) {
  if (fact !== undefined) return fact();
  const { ours, rival } = make();
  const scale = unit.startsWith("µs") ? 1000 : 1;
  const [own, other] = race(ours, rival, rounds);
  return { ours: own / scale, rival: other / scale };
}

/** A row in a new process. */
function rowOf(number, { name, unit, rivalName }) {
  const { stdout, status } = spawnSync(process.execPath, ["--expose-gc", fileURLToPath(import.meta.url), "--row", String(number)], {
    stdio: ["ignore", "pipe", "inherit"],
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`the row "${name}" ended with exit code ${status}`);
  const { ours, rival } = JSON.parse(stdout);
  return { name, ours: round(ours), rival: round(rival), rivalName, unit, ratio: round(rival / ours) };
}

/** Three places are more than the noise leaves. */
function round(value) {
  return Number.isFinite(value) ? Number(value.toFixed(3)) : value;
}

const cases = (await Promise.all(GROUPS.map((group) => import(`./cases/${group}.mjs`)))).flatMap((group) => group.cases);
if (values.row !== undefined) {
  console.log(JSON.stringify(await measured(cases[Number(values.row)])));
} else {
  const rows = [];
  const print = values.json ? console.error : console.log;
  print(headOf());
  cases.forEach((one, number) => {
    if (!one.name.includes(positionals.join(" "))) return;
    const row = rowOf(number, one);
    rows.push(row);
    print(lineOf(row, one.limit));
  });
  if (values.json) console.log(JSON.stringify({ rows }));
  if (rows.length === 0) throw new Error(`no row's name contains "${positionals.join(" ")}"`);
}
