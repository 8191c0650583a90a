// Checks that the real lerobot, minari and tensorflow_datasets open the exports of the page's room Record, and find the episodes that the room listed.
// `npm run crash:page` leaves the exports in dist/record.
import { equal, ok } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { unzipSync } from "fflate";
import { checks } from "./checks.mjs";
import { datasetsPython, tensorflowPython } from "./pythons.mjs";

const root = join(import.meta.dirname, "..");
const exports = join(root, "dist/record");
const folder = mkdtempSync(join(tmpdir(), "reprise-recorded-"));
/** The maximum average difference between pixels of a film, on a scale of 0 to 255. */
const MEAN = 6;

const PYTHONS = { tfds: tensorflowPython, datasets: datasetsPython };

/** Returns what a tool reads from an export: the number of steps and the sum of the rewards of each episode. */
function said(tool, python, ...names) {
  const args = [join(root, ".ci/recorded.py"), tool, ...names.map((name) => join(folder, name))];
  const env = { ...process.env, MINARI_DATASETS_PATH: join(folder, "docking-minari") };
  const { status, stdout, stderr, error } = spawnSync(PYTHONS[python](), args, { encoding: "utf8", maxBuffer: 2 ** 28, env });
  if (status !== 0) throw new Error(error?.message ?? stderr.slice(-3000));
  return JSON.parse(stdout.trim().split("\n").at(-1));
}

/** Returns the listed episodes that exports contain, oldest first. A cut episode with a single step is not exported. */
function listed() {
  const rows = JSON.parse(readFileSync(join(exports, "episodes.json"), "utf8"));
  return rows.reverse().filter(({ ending, steps }) => ending !== "cut" || steps > 1);
}

function same(episodes) {
  const rows = listed();
  equal(episodes.length, rows.length);
  for (const [i, { id, steps, ending, return: sum }] of rows.entries()) {
    equal(episodes[i].steps, ending === "cut" ? steps - 1 : steps, `steps of episode ${id}`);
    if (ending !== "cut") ok(Math.abs(episodes[i].sum - sum) < 0.006, `the return of episode ${id} is ${episodes[i].sum}, and the room says ${sum}`);
  }
}

try {
  for (const format of ["tfds", "lerobot", "lerobot-images", "minari"]) {
    for (const [path, bytes] of Object.entries(unzipSync(readFileSync(join(exports, `docking-${format}.zip`))))) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), bytes);
    }
  }
  await checks({
    "tensorflow_datasets opens what the room exported": () => same(said("tfds", "tfds", "docking-tfds/docking/1.0.0").episodes),
    "lerobot opens images in rows": () => same(said("lerobot", "datasets", "docking-lerobot-images").episodes),
    "lerobot opens films, which are nearly the images": () => {
      const { episodes, mean } = said("lerobot", "datasets", "docking-lerobot", "docking-lerobot-images");
      same(episodes);
      ok(mean < MEAN, `a pixel of the film differs by ${mean} levels on average`);
    },
    "minari opens what the room exported": () => same(said("minari", "datasets", "docking-v0").episodes),
  });
} finally {
  rmSync(folder, { recursive: true, force: true });
}
