import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { DEPARTURES } from "./departures.ts";
import { runCase, runPaths } from "./files.ts";

type Raw = { name: string; tables: object[]; ops: [string, object?][]; expect: { results?: Record<string, unknown>[]; error?: object } };

const cases = JSON.parse(readFileSync(join(import.meta.dirname, "tfagents", "reverb-table.json"), "utf8")) as Raw[];

describe("recorded cases of tables", () => {
  it.each(cases.map((raw) => [raw.name, raw] as const))("%s", async (_, raw) => {
    const { state, why } = await runCase(raw);
    expect({ state, why }).toEqual({ state: "passed", why: undefined });
  });

  it("every departure is a case", () => {
    expect(cases.map((raw) => raw.name)).toEqual(expect.arrayContaining(Object.keys(DEPARTURES)));
  });

  it("the default run finds them all", async () => {
    const [report, ...others] = await runPaths([import.meta.dirname]);
    expect(others).toEqual([]);
    expect(report?.outcomes.map((outcome) => outcome.name)).toEqual(cases.map((raw) => raw.name));
  });
});
