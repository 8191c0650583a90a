/** Compares structured writers with the recorded cases. Where our answer may differ from the recorded one, a naive writer computes the expected answer. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { each, whole } from "../../support/size.ts";
import { runCase } from "../files.ts";
import { naiveDifference, readStructuredCase } from "./cases.ts";
import { Oracle } from "./departures.ts";

const all = JSON.parse(readFileSync(join(import.meta.dirname, "../tfagents/structured-writer.json"), "utf8")) as {
  readonly name: string;
  readonly [key: string]: unknown;
}[];

describe("recorded cases of structured-writer.json", () => {
  it.each(each(8, all, 0).map((raw) => [raw.name, raw] as const))("%s", async (_, raw) => {
    const { state, why } = await runCase(raw);
    expect({ state, why }).toEqual({ state: "passed", why: undefined });
  });

  it.runIf(whole)("departs only in the cases listed in POLICY.md, each by its rule", async () => {
    const outcomes = await Promise.all(all.map((raw) => runCase(raw)));
    const found = Object.fromEntries(outcomes.filter(({ departs }) => departs).map(({ name, rule }) => [name, rule]));
    const sooner = "a bad pattern fails where it is made";
    const modulo = "a comparison keeps its modulo, which is an integer >= 1";
    const data = "a data condition compares numbers as they are, and refuses fields that are not one number";
    expect(found).toEqual({
      structured_condition_mod_less: modulo,
      structured_condition_mod_zero: modulo,
      structured_data_array: data,
      structured_data_float: data,
      structured_infer_stride_odd: "inferSignature gives the lengths that the items have",
      structured_pattern_index_refused: sooner,
      structured_pattern_open_refused: sooner,
      structured_pattern_order_refused: sooner,
      structured_pattern_start_refused: sooner,
      structured_pattern_step_refused: sooner,
      structured_priority_negative: "a negative priority is refused before anything changes",
      structured_signature_length: "a table's signature is checked for a StructuredWriter's items too",
      structured_table_unknown: "a table that the client knows not to exist is refused",
      structured_wrong_names: "the form of a step is the client's spec",
    });
  });
});

test.each(each(8, all, 3).map((raw) => [raw.name, raw] as const))("the naive writer returns the recorded answers of %s if no rule changes them", (_, raw) => {
  const read = readStructuredCase(raw);
  const { rules, results } = new Oracle(read);
  if (rules.size > 0) return;
  const differences = results.map((result, i) => naiveDifference(read.results[i] ?? {}, result));
  expect(differences.filter((found) => found !== undefined)).toEqual([]);
});
