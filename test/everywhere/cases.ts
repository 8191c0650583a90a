/** Runs the recorded cases of TF-Agents and Reverb in any host: observers, replay buffers, tables, RLDS. */
import { recorded } from "recorded";
import { runInFamily } from "../conformance/families.ts";

/** Prints a line for each file of cases. @throws Error that lists the failed cases */
export async function sayCases(say: (line: string) => void): Promise<void> {
  for (const [file, text] of Object.entries(recorded)) {
    const cases: { readonly [field: string]: unknown }[] = JSON.parse(text);
    const wrong: string[] = [];
    for (const raw of cases) {
      const outcome = await runInFamily(raw);
      if (outcome?.state !== "passed") wrong.push(`${file} ${raw.name}: ${outcome?.why ?? "of no family"}`);
    }
    if (wrong.length > 0) throw new Error(wrong.join("\n"));
    say(`${file} ${cases.length} cases`);
  }
}
