import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";
import { each, whole } from "../support/size.ts";
import { BUFFERS } from "./buffers/departures.ts";
import { RLDS } from "./datasets/departures.ts";
import { DEPARTURES } from "./departures.ts";
import { BATCHED } from "./distributed/batched-cases.ts";
import { VARIABLES } from "./distributed/variables-cases.ts";
import { runCase, runPaths } from "./files.ts";
import { EPISODE, TRAJECTORY } from "./observers/departures.ts";
import { PFRL } from "./transitions/departures.ts";

type Raw = { name: string; tables: object[]; ops: [string, object?][]; expect: { results?: Record<string, unknown>[]; error?: object } };

/** The names of the cases in client-calls.json in which our answer differs from the recorded one. */
const CLIENT = ["insert_one_table_unknown", "column_history_beyond", "column_other_writer", "column_of_column_type"].map((name) => `client_${name}`);

const FOLDERS = ["pfrl", "reverb-wire/checkpoint", "reverb-wire", "tfagents", "variants"];
const folder = join(import.meta.dirname, "tfagents");
const read = (file: string, from = folder) => JSON.parse(readFileSync(join(from, file), "utf8")) as Raw[];
const filesOf = (from: string) =>
  readdirSync(join(import.meta.dirname, from))
    .filter((file) => file.endsWith(".json"))
    .sort();
const cases = read("reverb-table.json");

describe("recorded cases of tables", () => {
  it.each(each(12, cases, 0).map((raw) => [raw.name, raw] as const))("%s", async (_, raw) => {
    const { state, why } = await runCase(raw);
    expect({ state, why }).toEqual({ state: "passed", why: undefined });
  });

  it("each listed departure names a recorded case", () => {
    expect(cases.map((raw) => raw.name)).toEqual(expect.arrayContaining(Object.keys(DEPARTURES)));
  });
});

describe.each([
  { file: "trajectory-observer.json", departures: TRAJECTORY },
  { file: "episode-observer.json", departures: EPISODE },
])("recorded cases of $file", ({ file, departures }) => {
  const own = read(file);

  it.each(each(12, own, 1).map((raw) => [raw.name, raw] as const))("%s", async (name, raw) => {
    const { state, why, departs } = await runCase(raw);
    expect({ state, why, departs }).toEqual({ state: "passed", why: undefined, departs: Object.hasOwn(departures, name) });
  });

  it("each listed departure names a recorded case", () => {
    expect(own.map((raw) => raw.name)).toEqual(expect.arrayContaining(Object.keys(departures)));
  });
});

describe("recorded cases of replay-buffer.json", () => {
  const own = read("replay-buffer.json");

  it.each(each(12, own, 1).map((raw) => [raw.name, raw] as const))("%s", async (name, raw) => {
    const { state, why, departs } = await runCase(raw);
    // Only the cases in BUFFERS may depart from the recorded answers.
    expect({ state, why, departs: departs ?? false }).toEqual({ state: "passed", why: undefined, departs: Object.hasOwn(BUFFERS, name) });
  });

  it("each listed departure names a recorded case", () => {
    expect(own.map((raw) => raw.name)).toEqual(expect.arrayContaining(Object.keys(BUFFERS)));
  });
});

describe.each(["client-calls.json", "datasets.json"])("recorded cases of %s", (file) => {
  it.each(each(6, read(file), 0).map((raw) => [raw.name, raw] as const))("%s", async (_, raw) => {
    const { state, why, departs } = await runCase(raw);
    expect({ state, why, departs }).toEqual({ state: "passed", why: undefined, departs: CLIENT.includes(raw.name) });
  });

  it("a case with a wrong expected answer fails", async () => {
    const [first] = read(file).filter(({ expect: { results = [] } }) => JSON.stringify(results).includes('"table_size":2'));
    const wrong = JSON.parse(JSON.stringify(first).replace('"table_size":2', '"table_size":3'));
    expect(await runCase(wrong)).toMatchObject({ state: "failed", why: expect.stringMatching(/table_size: expected 3, got 2/) });
  });
});

describe("recorded cases of RLDS", () => {
  const own = read("rlds.json");

  it.each(each(12, own, 1).map((raw) => [raw.name, raw] as const))("%s", async (name, raw) => {
    expect(await runCase(raw)).toMatchObject({ state: "passed", departs: (RLDS as readonly string[]).includes(name) });
  });

  // variants/cases.py defines these cases, which have other dtypes, nests, arguments and orders of steps.
  const more = read("rlds.json", join(import.meta.dirname, "variants"));
  it.each(each(12, more, 0).map((raw) => [raw.name, raw] as const))("variant %s", async (_, raw) => {
    const { state, why } = await runCase(raw);
    expect({ state, why }).toEqual({ state: "passed", why: undefined });
  });

  it("a case with a wrong expected answer fails", async () => {
    const right = own.find(({ name }) => name === "discount_kept") as Raw;
    const wrong = structuredClone(right);
    const [converted] = wrong.expect.results as unknown as { trajectories: { discount: number }[] }[];
    Object.assign(converted?.trajectories[2] ?? {}, { discount: 0.5 });
    expect(await runCase(wrong)).toMatchObject({ state: "failed", why: "op 0 convert: .trajectories[2].discount: expected 0.5, got 0" });
  });
});

// For these families, departures are rules. `departs` lists the cases in which a rule changes an answer.
describe.each([
  { file: "trajectories.json", departs: ["trajectory_from_episode_empty", "trajectory_n_step_truncated", "trajectory_transition_batch"] },
  { file: "drivers.json", departs: [] },
  {
    file: "py-buffers.json",
    departs: [
      "pybuffer_num_frames",
      "pybuffer_num_steps_too_many",
      "pybuffer_empty",
      "pybuffer_gather_all",
      "pybuffer_clear",
      "pybuffer_batch_of_two",
      "pybuffer_capacity_zero",
      "pybuffer_dataset_refused",
      "pybuffer_hashed_gather_not_full",
    ],
  },
])("recorded cases of $file", ({ file, departs }) => {
  it.each(each(6, read(file), 2).map((raw) => [raw.name, raw] as const))("%s", async (name, raw) => {
    const outcome = await runCase(raw);
    expect({ state: outcome.state, why: outcome.why, departs: outcome.departs ?? false }).toEqual({
      state: "passed",
      why: undefined,
      departs: (departs as readonly string[]).includes(name),
    });
  });

  // variants/agents.py defines these cases, some of them randomly with a fixed seed.
  it.each(each(12, read(file, join(import.meta.dirname, "variants")), 1).map((raw) => [raw.name, raw] as const))("%s", async (_, raw) => {
    const { state, why } = await runCase(raw);
    expect({ state, why }).toEqual({ state: "passed", why: undefined });
  });
});

describe.each([
  { file: "batched-observer.json", departures: BATCHED },
  { file: "variables.json", departures: VARIABLES },
])("recorded cases of $file", ({ file, departures }) => {
  const own = read(file, join(import.meta.dirname, "variants"));

  it.each(each(12, own, 1).map((raw) => [raw.name, raw] as const))("%s", async (name, raw) => {
    const { state, why, departs } = await runCase(raw);
    expect({ state, why, departs }).toEqual({ state: "passed", why: undefined, departs: Object.hasOwn(departures, name) });
  });

  it("a case with a wrong expected answer fails", async () => {
    const wrong = structuredClone(own[0]) as Raw;
    const text = JSON.stringify(wrong.expect);
    wrong.expect = JSON.parse(file === "variables.json" ? text.replace("1.5", "2.5") : text.replace('"reward":0.25', '"reward":0.5'));
    expect(text).not.toBe(JSON.stringify(wrong.expect));
    expect(await runCase(wrong)).toMatchObject({ state: "failed", why: expect.stringMatching(/expected (2\.5|0\.5), got (1\.5|0\.25)/) });
  });

  it("each listed departure names a recorded case", () => {
    expect(own.map((raw) => raw.name)).toEqual(expect.arrayContaining(Object.keys(departures)));
  });
});

describe("recorded cases of PFRL", () => {
  const own = filesOf("pfrl").flatMap((file) => read(file, join(import.meta.dirname, "pfrl"))) as unknown as { name: string; tier: string }[];
  const owed = own.filter(({ tier }) => tier !== "internals" && tier !== "numpy");

  const counted = owed.filter(({ tier }) => tier === "statistical");
  const tried = [
    ...each(
      6,
      owed.filter((raw) => !counted.includes(raw)),
      0,
    ),
    ...counted,
  ];

  it.each(tried.map((raw) => [raw.name, raw] as const))("%s", async (name, raw) => {
    const { state, why, departs } = await runCase(raw);
    expect({ state, why, departs }).toEqual({ state: "passed", why: undefined, departs: Object.hasOwn(PFRL, name) });
  });

  it("each listed departure names a required case, and cases that are not required are skipped", async () => {
    expect(owed.map((raw) => raw.name)).toEqual(expect.arrayContaining(Object.keys(PFRL)));
    for (const raw of own) if (!owed.includes(raw)) expect(await runCase(raw)).toMatchObject({ state: "skipped", why: expect.stringMatching(/^not owed/) });
  });
});

describe.each(["decoded.json", "expected.json"])("recorded messages of Reverb's wire: %s", (file) => {
  it("all messages pass, except those that need a client in the server's process", async () => {
    const [report] = await runPaths([join(import.meta.dirname, "reverb-wire", file)]);
    const failed = report?.outcomes.filter(({ state }) => state === "failed");
    const skipped = report?.outcomes.filter(({ state }) => state === "skipped").map(({ name }) => name);
    // Only a client in the server's process can produce the skipped entries.
    expect({ failed, skipped }).toEqual({ failed: [], skipped: file === "decoded.json" ? ["initialize_connection.request.bin"] : ["mutate", "mutate_absent"] });
  });
});

it.runIf(whole)("the default run finds all cases", async () => {
  const reports = await runPaths([import.meta.dirname]);
  const names = reports.map(({ path, outcomes }) => [basename(path), outcomes.map((outcome) => outcome.name)]);
  const casesOf = (file: string, from: string) => {
    const content = read(file, join(import.meta.dirname, from));
    return Array.isArray(content) ? content.map((raw) => raw.name) : Object.keys(content);
  };
  expect(names).toEqual(FOLDERS.flatMap((from) => filesOf(from).map((file) => [file, casesOf(file, from)])));
});
