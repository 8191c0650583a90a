import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";
import { DEPARTURES } from "./departures.ts";
import { runCase, runPaths } from "./files.ts";
import { EPISODE, TRAJECTORY } from "./observer-departures.ts";

type Raw = { name: string; tables: object[]; ops: [string, object?][]; expect: { results?: Record<string, unknown>[]; error?: object } };

const folder = join(import.meta.dirname, "tfagents");
const read = (file: string) => JSON.parse(readFileSync(join(folder, file), "utf8")) as Raw[];
const cases = read("reverb-table.json");

/** What no case may be skipped for but these, by what they ask: a feature that was built is taken out here. */
const NOT_THERE: { readonly [why: string]: readonly string[] } = {
  "not built yet: Client.insert, which refuses an insert into no table": ["insert_no_priorities"],
  "cannot be asked: two tables of one name (tables are the keys of an object)": ["bad_same_name"],
  "not built yet: an item of steps in reverse order": ["writer_slices"],
  "not built yet: an item of steps in any order (a list of indices)": ["writer_missing_field", "writer_repeat", "writer_list_order"],
  "not built yet: numpy, reading a writer's history before it is an item": ["writer_expired"],
  "not built yet: append with partial, a step made by several appends": ["writer_partial", "writer_partial_twice", "writer_partial_item"],
  "not built yet: steps that leave fields out": ["writer_new_field"],
  "not built yet: configure, a keep of its own for one column": ["writer_configure"],
  "not built yet: a table's signature": [
    "signature_ok",
    "signature_squeezed",
    "signature_extra_column",
    "signature_dtype",
    "signature_not_validated",
    "signature_other_names",
  ],
  "not built yet: chunk_length of the legacy writer, which is about chunks": ["legacy_bad_args"],
};

describe("recorded cases of tables", () => {
  const missing = new Map(Object.entries(NOT_THERE).flatMap(([why, names]) => names.map((name) => [name, why])));

  it.each(cases.map((raw) => [raw.name, raw] as const))("%s", async (name, raw) => {
    const { state, why } = await runCase(raw);
    expect({ state, why }).toEqual(missing.has(name) ? { state: "skipped", why: missing.get(name) } : { state: "passed", why: undefined });
  });

  it("every departure is a case", () => {
    expect(cases.map((raw) => raw.name)).toEqual(expect.arrayContaining(Object.keys(DEPARTURES)));
  });
});

describe.each([
  { file: "trajectory-observer.json", departures: TRAJECTORY },
  { file: "episode-observer.json", departures: EPISODE },
])("recorded cases of $file", ({ file, departures }) => {
  const own = read(file);

  it.each(own.map((raw) => [raw.name, raw] as const))("%s", async (name, raw) => {
    const { state, why, departs } = await runCase(raw);
    expect({ state, why, departs }).toEqual({ state: "passed", why: undefined, departs: Object.hasOwn(departures, name) });
  });

  it("every departure is a case", () => {
    expect(own.map((raw) => raw.name)).toEqual(expect.arrayContaining(Object.keys(departures)));
  });
});

it("the default run finds all cases", async () => {
  const reports = await runPaths([import.meta.dirname]);
  const names = reports.map(({ path, outcomes }) => [basename(path), outcomes.map((outcome) => outcome.name)]);
  expect(names).toEqual(
    readdirSync(folder)
      .filter((file) => file.endsWith(".json"))
      .sort()
      .map((file) => [file, read(file).map((raw) => raw.name)]),
  );
});
