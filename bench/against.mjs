/**
 * Compares two builds of the package, case by case. A launch starts three processes per case, one of this build and two of the other. They take short samples
 * in turn, so that disturbances affect all of them, and each compiler sees the code of only one build. Processes of the same build also differ, depending on
 * memory placement and compilation order. Therefore there are several launches, and the other build runs twice: its two processes show which differences are
 * insignificant.
 */
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { countProcessorTime, median, scaleOf, Timed } from "./measure.mjs";
import { againstHeadOf, againstLineOf } from "./report.mjs";

const SAMPLE_MS = 5;
/** The order of the three processes in each round. */
const ORDERS = [
  [0, 1, 2],
  [2, 1, 0],
  [1, 2, 0],
  [0, 2, 1],
  [2, 0, 1],
  [1, 0, 2],
];
const ROUNDS = 36;
/** The number of rounds for cases with long samples. */
const LAPS = 12;
/** A ratio is marked as better or WORSE only if its difference from 1 exceeds the spread by more than this value. */
const TOLERANCE = 0.03;

/** Runs in the process of one build: creates its side of a case, then responds to the requests of `launch`. */
export async function serve({ ours, fact, laps }) {
  process.on("disconnect", () => process.exit());
  if (ours === undefined) return process.send({ value: (await fact()).ours });
  countProcessorTime();
  const timed = new Timed(await ours(), laps);
  process.on("message", async ({ calibrate, n }) => {
    if (calibrate) await timed.calibrate(SAMPLE_MS);
    timed.n = n ?? timed.n;
    process.send(calibrate ? { n: timed.n } : { value: await timed.sample() });
  });
  process.send({});
}

/** A process that measures a case with one build. */
class Side {
  #child;
  #answer;
  #errors = "";

  constructor(dist, id) {
    const env = dist === undefined ? process.env : { ...process.env, REPRISE_DIST: dist };
    const program = fileURLToPath(new URL("run.mjs", import.meta.url));
    this.#child = fork(program, ["--side", id], { env, execArgv: ["--expose-gc"], stdio: ["ignore", "ignore", "pipe", "ipc"] });
    this.#child.stderr.setEncoding("utf8").on("data", (text) => (this.#errors += text));
    this.#child.on("message", (message) => this.#answer.resolve(message));
    this.#child.on("close", () => this.#answer.reject(new Error(this.#errors.match(/^\w*Error.*$/m)?.[0] ?? "ended without an answer")));
    this.ready = this.#next();
  }

  ask(message) {
    this.#child.send(message);
    return this.#next();
  }

  end() {
    if (this.#child.connected) this.#child.disconnect();
  }

  #next() {
    return new Promise((resolve, reject) => (this.#answer = { resolve, reject }));
  }
}

/** Returns the samples of each process in nanoseconds, those of this build first. A case without a timing returns one number. */
async function launch(dir, id, rounds) {
  const sides = [undefined, dir, dir].map((dist) => new Side(dist, id));
  try {
    const ready = await Promise.all(sides.map((side) => side.ready));
    if (ready[0].value !== undefined) return ready.map(({ value }) => [value]);
    const found = [];
    for (const side of sides) found.push((await side.ask({ calibrate: true })).n);
    const n = median(found);
    const samples = sides.map(() => []);
    for (let round = 0; round < rounds; round++) {
      for (const i of ORDERS[round % ORDERS.length]) samples[i].push((await sides[i].ask({ n })).value);
    }
    return samples;
  } finally {
    for (const side of sides) side.end();
  }
}

/** Measures the cases and prints each row as soon as it is ready. */
export async function against(dir, cases, { launches, print }) {
  print(againstHeadOf());
  const rows = [];
  for (const { id, name, unit, again, laps, ours } of cases) {
    // An earlier row has measured the same case.
    if (again) continue;
    try {
      const found = [];
      for (let k = 0; k < (ours === undefined ? 1 : launches); k++) found.push(await launch(dir, id, laps || unit === "ms" ? LAPS : ROUNDS));
      const row = { name, unit, ...summary(found, ours === undefined ? 1 : scaleOf(unit)) };
      rows.push(row);
      print(againstLineOf(row));
    } catch (error) {
      print(`${name}: ${error.message}`);
    }
  }
  return rows;
}

/** Computes medians over the launches. The spread is the difference between the two processes of the other build. */
function summary(launches, scale) {
  // Compares only samples of the same round, because the machine was equally busy during the round.
  const ratios = launches.map(([own, other, twin]) => median(own.map((sample, i) => (other[i] + twin[i]) / 2 / sample)));
  const selves = launches.map(([, other, twin]) => median(other.map((sample, i) => twin[i] / sample)));
  const ratio = median(ratios);
  const spread = median(selves.map((self) => Math.abs(self - 1)));
  const verdict = ratio < 1 - spread - TOLERANCE ? "WORSE" : ratio > 1 + spread + TOLERANCE ? "better" : "";
  const range = (values) => [Math.min(...values), Math.max(...values)];
  return {
    ours: median(launches.map(([own]) => median(own))) / scale,
    rival: median(launches.map(([, other, twin]) => median([...other, ...twin]))) / scale,
    ratio,
    ratios: range(ratios),
    spread,
    selves: range(selves),
    verdict,
  };
}
