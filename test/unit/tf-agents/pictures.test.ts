/** Compares the items of an episode F, M, L and its boundary step P with the diagrams in the TF-Agents documentation. */
import { expect, test } from "vitest";
import { ReverbAddTrajectoryObserver } from "../../../src/tf-agents/index.ts";
import { episode, replayOf, type Steps } from "./support.ts";

const NAMES = ["F", "M", "L", "P"];

/** Returns the items in the letters of the documentation: F first, M between, L the last action, P boundary or padding. */
function pictures(options: { readonly padEndOfEpisodes?: boolean; readonly tileEndOfEpisodes?: boolean }): string[] {
  const replay = replayOf();
  const observer = new ReverbAddTrajectoryObserver<Steps>(replay, { tableName: "t", sequenceLength: 4, ...options });
  for (const one of episode(3)) observer(one);
  const drawn: string[] = [];
  for (let { count, steps } = replay.table("t").sample(1); count > 0; { count, steps } = replay.table("t").sample(1)) {
    const letters = Array.from(steps.stepType.data, (type, i) => NAMES[type === 2 ? 3 : steps.nextStepType.data[i] === 2 ? 2 : type === 0 ? 0 : 1]);
    drawn.push(letters.join(", "));
  }
  return drawn;
}

test("with tileEndOfEpisodes, the items are FMLP, MLPP, LPPP and PPPP", () => {
  expect(pictures({ padEndOfEpisodes: true, tileEndOfEpisodes: true })).toEqual(["F, M, L, P", "M, L, P, P", "L, P, P, P", "P, P, P, P"]);
});

test("with padEndOfEpisodes, the only item is F, M, L, P", () => {
  expect(pictures({ padEndOfEpisodes: true })).toEqual(["F, M, L, P"]);
});

test("without options, the only item is F, M, L and the boundary step", () => {
  expect(pictures({})).toEqual(["F, M, L, P"]);
});
