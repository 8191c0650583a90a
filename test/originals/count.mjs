// Checks the translations of the original tests: every function has a row in table.md, with an existing test of ours or a reason. `node
// test/originals/count.mjs FOLDER…` also compares names.json, the list of functions, with the sources of the packages: site-packages, or a checkout. `--write`
// regenerates it.
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const folder = import.meta.dirname;
const KEPT = join(folder, "names.json");

/** Returns the contents of names.json: the `versions` of the packages, their public `names` by module, and the functions of their `tests` by file. */
export function kept() {
  return JSON.parse(readFileSync(KEPT, "utf8"));
}

/** Returns the rows of table.md: the original file, its function, the parameters, our file and test, and a note. */
export function rows() {
  const sections = readFileSync(join(folder, "table.md"), "utf8").split(/^## /m).slice(1);
  return sections.flatMap((section) => {
    const [, original, ours] = section.match(/^`(\S+)\.py`: \[(\S+)\]/) ?? [];
    const lines = [...section.matchAll(/^\| `(\S+)` \| (.*?) ?\| (.*?) ?\| (.*?) ?\|$/gm)];
    return lines.map(([, name, parameters, title, note]) => ({ original, name, parameters, file: ours, title: title === "—" ? undefined : title, note }));
  });
}

/** Returns the test titles of one of our files. */
function titles(file) {
  const text = readFileSync(join(folder, file), "utf8");
  return [...text.matchAll(/^test(?:\.each\([\s\S]*?\))?\(\s*"((?:[^"\\]|\\.)*)"/gm)].map(([, title]) => title.replaceAll(/\\(.)/g, "$1"));
}

/** Returns the faults of table.md as sentences. */
export function faults() {
  const found = [];
  const table = rows();
  const { tests } = kept();
  const known = new Map([...new Set(table.map(({ file }) => file))].map((file) => [file, titles(file)]));
  for (const [original, names] of Object.entries(tests)) {
    const here = table.filter((row) => row.original === original).map(({ name }) => name);
    for (const name of names) if (here.filter((one) => one === name).length !== 1) found.push(`${original}: ${name} needs one row`);
    for (const name of here) if (!names.includes(name)) found.push(`${original}: ${name} is no function of it`);
  }
  for (const { original, name, file, title, note } of table) {
    if (tests[original] === undefined) found.push(`${original} is no original`);
    if (title === undefined && note === "") found.push(`${original}: ${name} has neither a test nor a reason`);
    if (title !== undefined && !known.get(file).includes(title)) found.push(`${original}: ${name}: ${file} has no test "${title}"`);
  }
  // A file in this folder contains only translated tests.
  for (const [file, all] of known)
    for (const title of all) if (!table.some((row) => row.file === file && row.title === title)) found.push(`${file}: no row names "${title}"`);
  return found;
}

/** Returns the differences between names.json and the sources. @param {readonly string[]} folders the folders with the packages' sources */
export function drift(folders, python = "python3") {
  const { names, tests } = kept();
  const read = sources(folders, python);
  const found = [];
  for (const [what, ours] of Object.entries({ names, tests })) {
    for (const [file, list] of Object.entries(read[what])) {
      const mine = ours[file] ?? [];
      for (const name of list) if (!mine.includes(name)) found.push(`${file}.py has ${name}, names.json has not`);
      for (const name of mine) if (!list.includes(name)) found.push(`names.json has ${name}, ${file}.py has not`);
    }
  }
  const unread = [...Object.keys(names), ...Object.keys(tests)].filter((file) => read.names[file] === undefined && read.tests[file] === undefined);
  return { found, unread };
}

function sources(folders, python) {
  const { status, stdout, stderr, error } = spawnSync(python, [join(folder, "read.py"), ...folders], { encoding: "utf8", maxBuffer: 2 ** 24 });
  if (status !== 0) throw new Error(`${python} read.py ${folders.join(" ")}: ${error?.message ?? stderr}`);
  return JSON.parse(stdout);
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const folders = process.argv.slice(2).filter((word) => word !== "--write");
  if (process.argv.includes("--write")) writeFileSync(KEPT, `${JSON.stringify({ versions: kept().versions, ...sources(folders, "python3") }, null, 1)}\n`);
  const wrong = faults();
  if (folders.length > 0) {
    const { found, unread } = drift(folders);
    wrong.push(...found);
    if (unread.length > 0) console.log(`not in these folders: ${unread.join(", ")}`);
  }
  for (const original of Object.keys(kept().tests)) {
    const all = rows().filter((row) => row.original === original);
    const held = all.filter(({ title }) => title !== undefined).length;
    console.log(`${original}.py: ${all.length} functions, ${held} held by our tests, ${all.length - held} cannot be`);
  }
  for (const fault of wrong) console.error(fault);
  const functions = Object.values(kept().tests).flat().length;
  console.log(`${functions - Math.min(wrong.length, functions)} passed, ${wrong.length} failed`);
  process.exitCode = wrong.length === 0 ? 0 : 1;
}
