/** Looking changes nothing: the same program gives the same bytes with and without an inspector. */
import { expect, test } from "vitest";
import type { Question } from "../../../src/inspector/survey.ts";
import { Surveyor } from "../../../src/inspector/surveyor.ts";
import type { TestRandom } from "../../support/random.ts";
import { scaled } from "../../support/size.ts";
import { play } from "./program.ts";

function asked(random: TestRandom): Question {
  const table = random.pick(["one", "two"]);
  const questions: readonly Question[] = [
    { kind: "about" },
    { kind: "survey", table },
    { kind: "draw", table, n: 1 + random.below(300) },
    { kind: "item", table, key: random.below(40) * random.pick([1, 128, 256, 2048]) + random.below(64) },
  ];
  return random.pick(questions);
}

test("the same draws, counters, bytes in use and snapshots, whoever looks between two calls", () => {
  let answers = 0;
  let found = 0;
  for (let seed = 1; seed <= scaled(40, 6); seed++) {
    const alone = play(seed, 200, () => {});
    let surveyor: Surveyor | undefined;
    const watched = play(seed, 200, (replay, random) => {
      surveyor ??= new Surveyor(replay);
      if (random.below(2) === 0) return;
      const answer = surveyor.answer(asked(random));
      answers++;
      if ("state" in answer && answer.state !== "gone") found++;
    });
    expect([seed, watched.told]).toEqual([seed, alone.told]);
    expect([seed, watched.snapshot.equals(alone.snapshot)]).toEqual([seed, true]);
  }
  // It did look, and found items.
  expect(answers).toBeGreaterThan(300);
  expect(found).toBeGreaterThan(10);
});
