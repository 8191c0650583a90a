// Runs every row, or the rows whose names contain a text: `npm run bench [-- [--json] [TEXT]]`. Each row runs in a separate process, so the state of the
// compiler after one row does not slow down the next one. Both sides of a row run in turn in the same process. With `npm run bench -- --against DIR`, the rival
// is the `dist` of another build; see against.mjs.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { against, serve } from "./against.mjs";
import { race, scaleOf } from "./measure.mjs";
import { headOf, lineOf } from "./report.mjs";

const GROUPS =
  "append observer structured buffer sample transitions goals sequences prioritized gather halves pfrl journal state sockets rlds memory size start cost".split(
    " ",
  );
const { values, positionals } = parseArgs({
  options: {
    json: { type: "boolean" },
    against: { type: "string" },
    launches: { type: "string" },
    // `row` and `side` are the id of a case. Only this program passes these options, to the processes that it starts.
    row: { type: "string" },
    side: { type: "string" },
  },
  allowPositionals: true,
});

/** Measures a case: the time of each side, in the unit of the case. */
async function measured({ unit, ours, rival, fact, ...rest }) {
  if (fact !== undefined) return fact();
  const [own, other] = await race(await ours(), await rival(), rest);
  return { ours: own / scaleOf(unit), rival: other / scaleOf(unit) };
}

/** Measures a row in a new process. */
function rowOf({ id, name, unit, rivalName }) {
  const { stdout, status } = spawnSync(process.execPath, ["--expose-gc", fileURLToPath(import.meta.url), "--row", id], {
    stdio: ["ignore", "pipe", "inherit"],
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`the row "${name}" ended with exit code ${status}`);
  const { ours, rival } = JSON.parse(stdout);
  return { name, ours: round(ours), rival: round(rival), rivalName, unit, ratio: round(rival / ours) };
}

/** Rounds to three decimals, because more would only show noise. */
function round(value) {
  return Number.isFinite(value) ? Number(value.toFixed(3)) : value;
}

/** Returns the cases of a group. The id of a case is its group and its index, such as `append/0`. */
async function casesIn(group) {
  const { cases } = await import(`./cases/${group}.mjs`);
  return cases.map((one, index) => ({ ...one, id: `${group}/${index}` }));
}

/**
 * Returns the case with an id. Loads only its group, because garbage collection during a measurement takes longer if more code is loaded. The process also keeps
 * 16 MB of numbers, as a program with a learner does: V8 marks the heap concurrently only above 8 MB, and two builds may be on different sides of that size.
 */
async function caseOf(id) {
  globalThis.ballast = Array.from({ length: 16 }, () => new Array(1 << 17).fill(0.5));
  return (await casesIn(id.split("/")[0])).find((one) => one.id === id);
}

if (values.row !== undefined) {
  console.log(JSON.stringify(await measured(await caseOf(values.row))));
  // The timer of a journal would keep the process alive.
  process.exit();
} else if (values.side !== undefined) {
  await serve(await caseOf(values.side));
} else {
  const cases = (await Promise.all(GROUPS.map(casesIn))).flat();
  const rows = [];
  const print = values.json ? console.error : console.log;
  const named = cases.filter(({ name }) => name.includes(positionals.join(" ")));
  if (named.length === 0) throw new Error(`no row's name contains "${positionals.join(" ")}"`);
  if (values.against !== undefined) rows.push(...(await against(values.against, named, { print, launches: Number(values.launches ?? 5) })));
  else {
    print(headOf());
    for (const one of named) {
      if (one.skip !== undefined) {
        print(`SKIPPED: ${one.name}. ${one.skip}`);
        continue;
      }
      const row = rowOf(one);
      rows.push(row);
      print(lineOf(row, one.limit));
    }
  }
  if (values.json) console.log(JSON.stringify({ rows }));
}
