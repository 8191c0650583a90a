import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { root } from "../support/core.ts";
import { TestRandom } from "../support/random.ts";
import { some, whole } from "../support/size.ts";
import { BUFFERS } from "./buffers/departures.ts";
import { RLDS } from "./datasets/departures.ts";
import { DEPARTURES } from "./departures.ts";
import { runCase, runPaths } from "./files.ts";
import { EPISODE, TRAJECTORY } from "./observers/departures.ts";
import { reportOf } from "./report.ts";
import { PFRL } from "./transitions/departures.ts";

type Json = { [key: string]: unknown };
interface Raw extends Json {
  name: string;
  ops: unknown[];
  expect: { results?: Json[]; error?: Json };
}

const read = (file: string) => JSON.parse(readFileSync(join(import.meta.dirname, "tfagents", file), "utf8")) as Raw[];
const cases = [...read("reverb-table.json"), ...read("replay-buffer.json")];
const named = (name: string) => structuredClone(cases.find((raw) => raw.name === name)) as Raw;
const folder = mkdtempSync(join(tmpdir(), "conformance-"));
afterAll(() => rmSync(folder, { recursive: true }));

function departs(name: string): boolean {
  return Object.hasOwn(DEPARTURES, name) || Object.hasOwn(BUFFERS, name);
}

function file(name: string, content: unknown): string {
  const path = join(folder, name);
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}

/** Parts that are not compared, according to README.md. For a tally, these are the recorded counts and values derived from them. */
const NOT_HELD = ["sampler", "remover", "how", "count", "message", "type", "counts", "chi2_against_uniform", "all_probabilities_equal"];
/** The cases with random draws. Any possible draw passes, so an altered draw may also pass. */
const RANDOM = ["stateful_add_sequence", "episodic_preprocess", "uniform_dataset_random"];

/** Returns the path of every compared number, boolean and string of an answer, with a function that changes it. */
function changes(node: Json | unknown[], path: string): [path: string, change: () => void][] {
  return Object.entries(node).flatMap(([key, value]) => {
    const here = `${path}.${key}`;
    const set = (to: unknown): [string, () => void][] => [[here, () => Object.assign(node, { [key]: to })]];
    if (NOT_HELD.includes(key)) return [];
    if (typeof value === "number") return set(value === Number.MAX_VALUE || value === -Number.MAX_VALUE ? 0 : value + 1);
    if (typeof value === "boolean") return set(!value);
    if (typeof value === "string") return set(`${value}?`);
    return typeof value === "object" && value !== null ? changes(value as Json, here) : [];
  });
}

describe("a case altered so that it must fail", () => {
  it("fails at the altered op, for any altered number, boolean or string", async () => {
    const random = new TestRandom(1);
    for (const { name } of some(cases.filter((raw) => raw.expect.results !== undefined && !departs(raw.name) && !RANDOM.includes(raw.name)))) {
      const outcome = await runCase(named(name));
      if (outcome.state !== "passed") continue;
      for (let k = 0; k < 3; k++) {
        const altered = named(name);
        const all = (altered.expect.results as Json[]).flatMap((result, i) => changes(result, "").map(([path, change]) => ({ i, path, change })));
        if (all.length === 0) continue;
        const { i, path, change } = random.pick(all);
        change();
        const { state, why } = await runCase(altered);
        expect([name, path, state, why?.startsWith(`op ${i} `)]).toEqual([name, path, "failed", true]);
      }
    }
  });

  it.each(["update_unknown_table", "legacy_too_long", "writer_wrong_shape", "limiter_really_blocks", "writer_no_history"])(
    "%s fails if its expected error is removed",
    async (name) => {
      const altered = named(name);
      const i = (altered.expect.results as Json[]).findIndex((result) => result.error !== undefined);
      (altered.expect.results as Json[])[i] = {};
      expect(await runCase(altered)).toMatchObject({ state: "failed", why: expect.stringContaining(`op ${i} `) });
    },
  );

  it("fails if it expects an error with another meaning", async () => {
    const altered = named("legacy_too_long");
    for (const result of altered.expect.results as Json[]) if (result.error !== undefined) result.error = { type: "DeadlineExceededError" };
    expect(await runCase(altered)).toMatchObject({ state: "failed", why: expect.stringMatching(/^op 2 .*expected TIMEOUT, got RangeError/) });
  });

  it("fails if an expected constructor error is missing, or an unexpected one is thrown", async () => {
    expect(await runCase({ ...named("sampler_Fifo"), expect: { error: { type: "ValueError" } } })).toMatchObject({
      state: "failed",
      why: "constructor: expected ValueError, got none",
    });
    expect(await runCase({ ...named("bad_max_size"), expect: { results: [] } })).toMatchObject({ state: "failed", why: expect.stringContaining("maxSize") });
  });

  it("fails if its tally lacks an outcome or has an extra one", async () => {
    for (const change of [(all: Json[]) => all.pop(), (all: Json[]) => all.push({ value: 9, priority: 1, probability: 0.2 })]) {
      const altered = named("sampler_Uniform");
      change((altered.expect.results as Json[])[3]?.outcomes as Json[]);
      expect(await runCase(altered)).toMatchObject({ state: "failed", why: expect.stringMatching(/^op 3 .*outcomes/) });
    }
  });
});

describe("a malformed case", () => {
  it.each<[string, (raw: Raw) => void, RegExp]>([
    ["an unknown op", (raw) => raw.ops.push(["dance", {}]), /^op 5: unknown op "dance"$/],
    ["an unknown op", (raw) => raw.ops.push(7), /^malformed: op 5 must be/],
    ["an op without a result", (raw) => raw.ops.push(["size"]), /^malformed: expect.results has nothing for op 5$/],
    ["no expectation", (raw) => Object.assign(raw, { expect: undefined }), /^malformed: expect must be/],
    ["an unknown selector", (raw) => Object.assign(raw, { tables: [{ name: "t", sampler: "Best" }] }), /^malformed: unknown selector "Best"$/],
    ["an unknown limiter", (raw) => Object.assign(raw, { tables: [{ name: "t", rate_limiter: ["Often", 1] }] }), /^malformed: unknown rate limiter/],
    ["a table without a name", (raw) => Object.assign(raw, { tables: [{}] }), /^malformed: tables must be/],
    ["a writer that was not made", (raw) => Object.assign(raw, { ops: [["flush"]] }), /^malformed: no writer "w" was made$/],
    ["no known family", (raw) => Object.assign(raw, { tables: undefined }), /^malformed: of no known family/],
  ])("fails with its reason: %s", async (_, change, why) => {
    const raw = named("sampler_Fifo");
    change(raw);
    expect(await runCase(raw)).toMatchObject({ name: "sampler_Fifo", state: "failed", why: expect.stringMatching(why) });
  });
});

describe("paths", () => {
  it("may be files, or folders with all files below them", async () => {
    file("deep/a/one.json", [named("delete")]);
    file("deep/two.json", [named("reset"), { ...named("delete"), expect: { results: [{ value: 1 }] } }]);
    file("deep/notes.md", "no cases");
    const { lines, failed } = reportOf(await runPaths([join(folder, "deep"), join(folder, "deep", "a", "one.json")]));
    expect(failed).toBe(1);
    expect(lines[0]).toMatch(/^FAILED .*two\.json delete: op 0 /);
    expect(lines.at(-1)).toBe("3 passed, 1 failed, 0 skipped");
  });

  it.each([
    ["nowhere", () => join(folder, "nowhere"), "no such file or folder"],
    ["no JSON", () => file("bad.json", "{"), "malformed: "],
    ["no array", () => file("object.json", {}), "malformed: a file of cases must be an array with at least one"],
    ["no case", () => file("numbers.json", [1]), "malformed: a case must be an object, got 1"],
    ["an empty folder", () => join(file("empty/notes.md", ""), ".."), "no *.json in this folder"],
  ])("fail with a reason: %s", async (_, path, why) => {
    const { lines, failed } = reportOf(await runPaths([path()]));
    expect(failed).toBe(1);
    expect(lines[0]).toContain(why);
    expect(lines.at(-1)).toBe("0 passed, 1 failed, 0 skipped");
  });
});

describe("departures", () => {
  it("are counted, and listed with their rules", async () => {
    const { lines } = reportOf(await runPaths([file("departures.json", [named("update_negative"), named("writer_close"), named("delete")])]));
    expect(lines).toEqual([
      "2 departures, held to our own answers instead of the recorded ones:",
      `  update_negative (passed): ${DEPARTURES.update_negative?.rule}`,
      `  writer_close (passed): ${DEPARTURES.writer_close?.rule}`,
      "3 passed, 0 failed, 0 skipped",
    ]);
  });

  it("a departing case under another name is compared with the recorded answer, and fails", async () => {
    expect(await runCase({ ...named("writer_close"), name: "close" })).toMatchObject({
      state: "failed",
      why: expect.stringMatching(/^op 6 .*expected 0, got 1$/),
    });
  });
});

describe("observers", () => {
  const of = (name: string) =>
    JSON.parse(readFileSync(join(import.meta.dirname, "tfagents/trajectory-observer.json"), "utf8")).find((raw: { name: string }) => raw.name === name);

  it.each([
    ["another item", (raw) => (raw.expect.items[0].columns.reward[0] += 1), /\.items\[0\]\.leaves\[\d\]\[0\]: expected/],
    ["a missing item", (raw) => raw.expect.items.push(raw.expect.items[0]), /\.items: expected/],
    ["another priority", (raw) => (raw.expect.items[0].priority = 2), /priority: expected 2, got 1/],
    ["another size", (raw) => (raw.expect.sizes[1][0] += 1), /^op 1 step: \.sizes\[0\]/],
    ["another count", (raw) => (raw.expect.cached[0] = 7), /^op 0 step: \.cached: expected 7, got 1/],
    ["another dtype", (raw) => (raw.expect.dtypes.reward = "float64"), /\.dtypes\[\d\]: expected float64, got float32/],
    ["an error that did not come", (raw) => (raw.expect.errors = [{ op: 0, type: "ValueError" }]), /^op 0 step: expected SPEC_MISMATCH or CLOSED/],
    ["a constructor's error", (raw) => (raw.expect = { error: { type: "ValueError" } }), /^constructor: expected RangeError, got none/],
    ["an op of no name", (raw) => (raw.ops[0][0] = "stap"), /^malformed: unknown op "stap"/],
  ] as const satisfies readonly (readonly [string, (raw: ReturnType<typeof of>) => unknown, RegExp])[])("fail for %s", async (_, change, why) => {
    const raw = structuredClone(of("window_L2_S1"));
    expect(await runCase(raw)).toMatchObject({ state: "passed" });
    change(raw);
    expect(await runCase(raw)).toMatchObject({ state: "failed", why: expect.stringMatching(why) });
  });

  it("a departing case passes with our own answer, and fails under another name", async () => {
    expect(await runCase(of("flat_list"))).toMatchObject({ state: "passed", departs: true });
    expect(await runCase({ ...of("flat_list"), name: "flat" })).toMatchObject({ state: "failed", departs: false });
  });
});

describe("the buffer over a table", () => {
  const of = () =>
    JSON.parse(readFileSync(join(import.meta.dirname, "tfagents/replay-buffer.json"), "utf8")).find((raw: { name: string }) => raw.name === "reverb_det_batch");

  it.each([
    ["another step", (raw) => (raw.expect.results[3].elements[0].action[0][0] = 7), /^op 3 .*action\[0\]\[0\]: expected 7, got 0/],
    ["another table size", (raw) => (raw.expect.results[3].elements[0].info.table_size[1][0] = 3), /table_size\[1\]\[0\]: expected 3, got 2/],
    ["an element more", (raw) => raw.expect.results[3].elements.push({}), /\.elements: expected/],
    ["another capacity", (raw) => (raw.expect.results[1].capacity = 51), /^op 1 .*capacity: expected 51, got 50/],
    ["an error that did not come", (raw) => (raw.expect.results[3] = { error: { type: "ValueError" } }), /^op 3 .*expected \{"type":"ValueError"\}/],
    ["an op of no name", (raw) => (raw.ops[2][0] = "stops"), /^malformed: unknown op "stops"/],
  ] as const satisfies readonly (readonly [string, (raw: ReturnType<typeof of>) => unknown, RegExp])[])("fails for %s", async (_, change, why) => {
    const raw = of();
    expect(await runCase(raw)).toMatchObject({ state: "passed" });
    change(raw);
    expect(await runCase(raw)).toMatchObject({ state: "failed", why: expect.stringMatching(why) });
  });
});

describe("PFRL's buffers", () => {
  const transition = (i: number, terminal: boolean) => ({
    state: i,
    action: 100 + i,
    reward: i / 4,
    next_state: i + 1,
    next_action: null,
    is_state_terminal: terminal,
  });
  const of = (file: string, name: string) =>
    JSON.parse(readFileSync(join(import.meta.dirname, "pfrl", file), "utf8")).find((raw: { name: string }) => raw.name === name);

  it.each([
    ["another length", (raw) => (raw.expect[4].value = 5), /^op 4 .*value: expected 5, got 4/],
    ["another transition", (raw) => (raw.expect[6].value[0][0].reward += 1), /value\[0\]\[0\]\.reward: expected 1, got 0/],
    ["another weight", (raw) => (raw.expect[11].value[1][0].weight += 1e-6), /^op 11 .*value\[1\]\[0\]\.weight: expected/],
    ["a weight that is missing", (raw) => delete raw.expect[11].value[1][0].weight, /value\[1\]\[0\]\.weight: expected undefined/],
    ["another sum that was left", (raw) => (raw.expect[11].calls[1].hi = 2), /calls\[1\]\.hi: expected 2, got 2.58/],
    ["another priority", (raw) => (raw.expect[9].value.sum_tree[0] = 0), /sum_tree\[0\]: expected 0, got 0.06/],
    ["an unexpected draw", (raw) => raw.ops[11].draws.push({ uniform: 0 }), /1 draws were not asked for/],
    ["an error that did not come", (raw) => (raw.expect[12] = { raises: { type: "AssertionError" } }), /^op 12 .*expected \{"type":"AssertionError"\}/],
    ["an op of no name", (raw) => (raw.ops[10].op = "dance"), /^malformed: op 10: unknown op "dance"/],
    ["a class of no name", (raw) => (raw.class = "Buffer"), /^malformed: unknown class "Buffer"/],
    ["an expectation that is missing", (raw) => raw.expect.pop(), /^malformed: expect must have one for each op/],
    ["an argument of no name", (raw) => (raw.args.colour = 1), /^constructor: expected null, got TypeError: .*no option "colour"/],
  ] as const satisfies readonly (readonly [string, (raw: ReturnType<typeof of>) => unknown, RegExp])[])("fail for %s", async (_, change, why) => {
    const raw = of("prioritized.json", "per-weights-true");
    // The added ops compare the length and the contents of the buffer before the first draw.
    raw.ops.splice(5, 0, { op: "contents" });
    raw.expect.splice(5, 0, { value: [0, 1, 2, 3, 4].map((i) => [transition(i, i === 4)]) });
    raw.ops.splice(4, 0, { op: "len" });
    raw.expect.splice(4, 0, { value: 4 });
    const fitting = structuredClone(raw);
    expect(await runCase(fitting)).toMatchObject({ state: "passed" });
    change(raw);
    expect(await runCase(raw)).toMatchObject({ state: "failed", why: expect.stringMatching(why) });
  });

  it("a departing case passes with our own answer, and fails under another name", async () => {
    expect(await runCase(of("prioritized.json", "per-evict-while-waiting"))).toMatchObject({ state: "passed", departs: true });
    expect(await runCase({ ...of("prioritized.json", "per-evict-while-waiting"), name: "evict" })).toMatchObject({ state: "failed", departs: false });
  });

  it.runIf(whole)("fail if counts are improbable", async () => {
    const raw = of("queues.json", "pb-distribution");
    expect(await runCase(raw)).toMatchObject({ state: "passed" });
    raw.expect[5].value.exact_any = [0.3, 0.7, 0.86, 0.96, 0.18];
    expect(await runCase(raw)).toMatchObject({ state: "failed", why: expect.stringMatching(/counts_any\[0\]: expected about \d+ of \d+/) });
  });
});

describe("the program", () => {
  const run = (...args: string[]) => spawnSync(process.execPath, [join(root, "dist", "conformance.mjs"), ...args], { encoding: "utf8" });

  it.runIf(whole)("runs the copied cases if no path is passed", () => {
    const { status, stdout } = run();
    expect(stdout.trimEnd().split("\n").at(-1)).toMatch(/^\d+ passed, 0 failed, \d+ skipped$/);
    expect(status).toBe(0);
  });

  it.runIf(whole)("counts and lists the departures of the folders passed to it", () => {
    const { stdout } = run(...["pfrl", "tfagents"].map((folder) => join(root, "test/conformance", folder)));
    const named = [DEPARTURES, TRAJECTORY, EPISODE, BUFFERS, PFRL, RLDS].flatMap((each) => (Array.isArray(each) ? each : Object.keys(each)));
    const [, count, listed = ""] = /\n(\d+) departures[^\n]*\n((?: {2}.*\n)*)/.exec(stdout) ?? [];
    const told = [...listed.matchAll(/^ {2}(\S+) \(passed\): \S/gm)].map(([, name]) => name);
    // The other families define their departures as rules, so the report may list more cases than `named`.
    expect(told).toEqual(expect.arrayContaining(named));
    expect(told.length).toBe(Number(count));
  });

  it("exits with 1 if a case fails", () => {
    const { status, stdout } = run(file("fails.json", [{ ...named("writer_close"), name: "close" }]));
    expect(stdout.trimEnd().split("\n").at(-1)).toBe("0 passed, 1 failed, 0 skipped");
    expect(status).toBe(1);
  });
});
