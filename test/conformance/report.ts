/** Creates the lines of the runner's report: failures, skipped cases with reasons, departures, and a last line of counts. */
import { DEPARTURES } from "./departures.ts";
import type { FileReport } from "./files.ts";
import type { Outcome } from "./outcome.ts";

export function reportOf(reports: readonly FileReport[]): { readonly lines: readonly string[]; readonly failed: number } {
  const lines: string[] = [];
  const all = reports.flatMap(({ outcomes }) => outcomes);
  const count = (state: Outcome["state"]) => all.filter((outcome) => outcome.state === state).length;
  for (const { path, outcomes } of reports) {
    for (const { name, state, why } of outcomes) if (state === "failed") lines.push(`FAILED ${path}${name === "" ? "" : ` ${name}`}: ${why}`);
  }
  for (const { path, outcomes } of reports) {
    for (const [why, names] of grouped(outcomes.filter(({ state }) => state === "skipped"))) {
      lines.push(`skipped ${names.length} of ${path}: ${why}${names.length === outcomes.length ? "" : ` (${names.join(", ")})`}`);
    }
  }
  const departures = all.filter(({ departs }) => departs);
  lines.push(`${departures.length} departures, held to our own answers instead of the recorded ones${departures.length === 0 ? "" : ":"}`);
  for (const { name, state, rule = DEPARTURES[name]?.rule } of departures) lines.push(`  ${name} (${state}): ${rule}`);
  lines.push(`${count("passed")} passed, ${count("failed")} failed, ${count("skipped")} skipped`);
  return { lines, failed: count("failed") };
}

function grouped(outcomes: readonly Outcome[]): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const { name, why = "" } of outcomes) groups.set(why, [...(groups.get(why) ?? []), name]);
  return groups;
}
