/** Tests that inspection changes nothing: the same program produces the same bytes with and without an inspector. */
import { expect, test } from "vitest";
import { InspectorServer } from "../../../src/inspector/inspector-server.ts";
import type { Question } from "../../../src/inspector/protocol.ts";
import type { TestRandom } from "../../support/random.ts";
import { scaled } from "../../support/size.ts";
import { play } from "./program.ts";

/** Returns a random question. @param keys the keys of the known items of each table */
function asked(random: TestRandom, keys: ReadonlyMap<string, ArrayLike<number>>): Question {
  const table = random.pick(["one", "two"]);
  const known = keys.get(table) ?? [];
  const questions: readonly Question[] = [
    { kind: "about" },
    { kind: "survey", table },
    { kind: "draw", table, n: 1 + random.below(300) },
    { kind: "item", table, key: known[random.below(known.length)] ?? random.below(5000) },
  ];
  return random.pick(questions);
}

test("inspecting between calls does not change draws, counters, bytes in use or snapshots", () => {
  const counts = { survey: 0, live: 0, drawn: 0, episodes: 0 };
  const calls = scaled(200, 70);
  for (let seed = 1; seed <= scaled(40, 4); seed++) {
    const alone = play(seed, calls, () => {});
    const keys = new Map<string, ArrayLike<number>>();
    let surveyor: InspectorServer | undefined;
    const watched = play(seed, calls, (replay, random) => {
      surveyor ??= new InspectorServer(replay);
      if (random.below(2) === 0) return;
      const answer = surveyor.answer(asked(random, keys));
      if ("writers" in answer && answer.table !== undefined) {
        counts.survey++;
        counts.episodes += answer.table.episodes.length;
        keys.set(answer.table.name, answer.table.sample.keys);
      } else if ("state" in answer) counts.live += Number(answer.state === "live" && answer.leaves.length > 0);
      else if ("items" in answer) counts.drawn += answer.items.length;
    });
    expect([seed, watched.told]).toEqual([seed, alone.told]);
    expect([seed, watched.snapshot.equals(alone.snapshot)]).toEqual([seed, true]);
  }
  // The inspector must have returned data.
  for (const count of Object.values(counts)) expect(count).toBeGreaterThan(scaled(20, 0));
});
