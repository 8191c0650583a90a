// Passes a million rows of each format, in 1,000 episodes and in one, through the command line: `npm run soak:rows [-- --rows N] [--limit MB] [WORDS]`. Prints
// the peak memory of each process, as the operating system counts it, and fails if a peak is above the limit.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const { values, positionals } = parseArgs({
  options: { rows: { type: "string", default: "1000000" }, limit: { type: "string", default: "250" } },
  allowPositionals: true,
});
const [rows, limit] = [Number(values.rows), Number(values.limit)];
const FORMATS = ["parquet", "jsonl", "tfds", "lerobot", "minari", "npz", "d4rl"];
const TARGETS = { parquet: "to.parquet", jsonl: "to.jsonl", tfds: "to", lerobot: "to", minari: "to" };
/** Minari's tools cannot read longer episodes. */
const MINARI_LENGTH = 125_000;

const cli = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));
const source = fileURLToPath(new URL("rows/source.mjs", import.meta.url));
/** Makes a process print its peak memory in KB before it exits. */
const TELL = "data:text/javascript,process.on('exit',()=>process.stderr.write('\\npeak '+process.resourceUsage().maxRSS+'\\n'))";

const folder = mkdtempSync(join(tmpdir(), "reprise-rows-"));
let failed = 0;
let passed = 0;

function run(name, args, limit) {
  if (!name.includes(positionals.join(" "))) return;
  const start = performance.now();
  const { status, stderr } = spawnSync(process.execPath, ["--import", TELL, cli, ...args], { encoding: "utf8", maxBuffer: 2 ** 28 });
  const peak = Number(/peak (\d+)\n$/.exec(stderr)?.[1]) / 1e3;
  const isWithin = status === 0 && peak <= limit;
  if (isWithin) passed++;
  else failed++;
  const what = status === 0 ? (isWithin ? "" : `  ABOVE ${limit} MB`) : `  FAILED: ${stderr.slice(0, 300)}`;
  console.log(`${name.padEnd(44)} ${peak.toFixed(0).padStart(5)} MB ${((performance.now() - start) / 1e3).toFixed(1).padStart(6)} s${what}`);
}

function write(format, length) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [source, format, String(rows), String(length), folder], { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
  return stdout.trim();
}

try {
  for (const episodes of [1000, 1]) {
    const length = (format) => Math.min(rows / episodes, format === "minari" ? MINARI_LENGTH : rows);
    const title = (format) => `${rows / length(format)} episodes`;
    const names = (format, verb) => `${verb} ${format}, ${title(format)}`;
    for (const format of FORMATS) {
      if (![names(format, "inspect"), names(format, "inspect --stats"), names(format, "convert")].some((name) => name.includes(positionals[0] ?? ""))) continue;
      const path = write(format, length(format));
      run(names(format, "inspect"), ["inspect", path], limit);
      run(names(format, "inspect --stats"), ["inspect", path, "--stats"], limit);
      const targets = format === "parquet" ? Object.keys(TARGETS) : ["parquet"];
      for (const target of targets) {
        const options = target === "lerobot" ? ["--fps", "10"] : target === "minari" ? ["--id", "rows-v0"] : [];
        const to = join(folder, TARGETS[target]);
        if (target !== "minari" || length(format) <= MINARI_LENGTH)
          run(`${names(format, "convert")} to ${target}`, ["convert", path, to, "--format", target, "--overwrite", ...options], limit);
        rmSync(to, { recursive: true, force: true });
      }
      rmSync(path, { recursive: true, force: true });
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 && passed > 0 ? 0 : 1);
