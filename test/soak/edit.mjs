// Edits large inputs: `npm run soak:edit [-- --gigabytes N] [--limit MB] [--format tfds]`. Creates an input of that size, edits it with the command line, and
// fails if the process takes more memory than the limit.
//
// Then stops edits with Ctrl-C while their progress bar is drawn, to a new place and in place. The source must be whole, and nothing of the target may be left.
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { createReadStream, existsSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const { values } = parseArgs({
  options: { gigabytes: { type: "string", default: "0.1" }, limit: { type: "string", default: "250" }, format: { type: "string", default: "tfds" } },
});
const [bytes, limit] = [Number(values.gigabytes) * 1e9, Number(values.limit)];
const cli = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));
const program = fileURLToPath(new URL("edit/source.mjs", import.meta.url));
/** Makes a process print its peak memory in KB before it exits. */
const TELL = "data:text/javascript,process.on('exit',()=>process.stderr.write('\\npeak '+process.resourceUsage().maxRSS+'\\n'))";

const folder = mkdtempSync(join(tmpdir(), "reprise-edit-"));
const isTfds = values.format === "tfds";
if (!isTfds && values.format !== "parquet") throw new RangeError(`format must be tfds or parquet, got ${values.format}`);
const [made, out] = isTfds ? [join(folder, "source"), join(folder, "out")] : [join(folder, "source.parquet"), join(folder, "out.parquet")];
const path = isTfds ? join(made, "demo") : made;
const results = [];

function expect(name, isTrue, detail) {
  results.push(isTrue);
  console.log(`${isTrue ? "ok" : "not ok"} ${name}: ${detail}`);
}

function filesOf(place) {
  if (!statSync(place).isDirectory()) return [place];
  return readdirSync(place, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

/** Returns a hash of the names and the bytes of all files. */
async function digestOf(place) {
  const hash = createHash("sha256");
  for (const file of filesOf(place)) {
    hash.update(file);
    for await (const chunk of createReadStream(file, { highWaterMark: 1 << 20 })) hash.update(chunk);
  }
  return hash.digest("hex");
}

const seconds = (start) => `${((performance.now() - start) / 1e3).toFixed(1)} s`;

/** Runs an edit in a separate terminal, and types Ctrl-C when the progress bar shows a tenth. */
function interrupted(to) {
  const quoted = [process.execPath, cli, "edit", path, to, "--cast", "action=f64", "--overwrite"].map((word) => `'${word}'`).join(" ");
  const child = spawn("script", ["-qfec", quoted, "/dev/null"], { stdio: ["pipe", "pipe", "inherit"] });
  return new Promise((resolve, reject) => {
    let text = "";
    let share;
    child.stdout.on("data", (chunk) => {
      text += chunk;
      const shown = [...text.matchAll(/editing [█░ ]*(\d+) %/g)].at(-1)?.[1];
      if (share !== undefined || shown === undefined || Number(shown) < 10) return;
      share = Number(shown);
      child.stdin.write("\x03");
    });
    child.on("error", reject);
    child.on("close", (status) => resolve({ status, share, text }));
  });
}

try {
  let start = performance.now();
  const maker = spawnSync(process.execPath, [program, values.format, made, String(bytes)], { encoding: "utf8" });
  if (maker.status !== 0) throw new Error(maker.stderr);
  const episodes = Number(maker.stdout);
  const size = filesOf(path).reduce((sum, file) => sum + statSync(file).size, 0);
  console.log(`${(size / 1e9).toFixed(2)} GB in ${episodes} episodes, made in ${seconds(start)}`);
  start = performance.now();
  const edit = ["edit", path, out, "--drop-episodes", "1", "--cast", "action=f64", "--where", "length > 1", "--json"];
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--import", TELL, cli, ...edit], { encoding: "utf8" });
  const peak = Number(/peak (\d+)\n$/.exec(stderr)?.[1]) / 1e3;
  const written = status === 0 ? JSON.parse(stdout).episodes : stderr.slice(0, 300);
  expect("an edit writes all other episodes", written === episodes - 1, `${written} of ${episodes - 1} in ${seconds(start)}`);
  expect(`memory stays below ${limit} MB`, peak <= limit, `${peak.toFixed(0)} MB`);
  rmSync(out, { recursive: true, force: true });
  const digest = await digestOf(path);
  for (const [name, to] of [
    ["to a new place", out],
    ["in place", path],
  ]) {
    const { status: code, share, text } = await interrupted(to);
    const left = readdirSync(folder).filter((entry) => join(folder, entry) !== made);
    expect(`Ctrl-C stops an edit ${name}`, code === 130 && share < 100, `exit code ${code} at ${share} %`);
    expect("it says what was not written", text.includes("was not written"), JSON.stringify(text.slice(-100)));
    expect(
      "the source is whole, and nothing is left of the target",
      (await digestOf(path)) === digest && left.length === 0 && !existsSync(out),
      `left: ${left.join(", ") || "nothing"}`,
    );
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
const failed = results.filter((isTrue) => !isTrue).length;
console.log(`${results.length - failed} passed, ${failed} failed`);
process.exitCode = failed === 0 && results.length > 0 ? 0 : 1;
