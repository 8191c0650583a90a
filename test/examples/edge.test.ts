/** Tests examples/edge: the learner must receive each transition once, whatever files of a drain remain after a kill. */
import { decodeTagged } from "reprise/storage";
import { expect, test } from "vitest";
import { drain, openGame } from "../../examples/edge/game.js";
import { type Change, filesAt, Traced } from "../support/traced-directory.ts";

const [ACTORS, STEPS] = [4, 1024];

/** Writes the data that actors write before a learner connects. */
async function play(replay: Awaited<ReturnType<typeof openGame>>): Promise<void> {
  for (let actor = 0; actor < ACTORS; actor++) {
    const writer = replay.writer({ name: `actor ${actor}`, items: [{ table: "experience", nStep: 1 }] });
    for (let t = 0; t < STEPS; t++) {
      writer.append({ observation: [actor, t, 0, 0], action: t, reward: 1 });
      if (t % 10 === 9) writer.endEpisode({ final: { observation: [actor, t + 1, 0, 0] }, terminated: false });
    }
  }
  await replay.flush();
}

/** Returns the transitions of a game that a new learner receives: actor and step, in order. */
async function drained(dir: unknown): Promise<string[]> {
  const replay = await openGame(dir);
  const seen: string[] = [];
  for (let have = 0; ; ) {
    const { number, count, observation } = decodeTagged(await drain(replay, have)) as { number: number; count: number; observation: Float32Array };
    if (number === have) break;
    have = number;
    for (let i = 0; i < count; i++) seen.push(`${observation[4 * i]}: ${observation[4 * i + 1]}`);
  }
  replay.dispose();
  return seen.sort();
}

/** Returns the number of missing transitions, and of duplicates. */
function faults(seen: readonly string[], all: readonly string[]): { missing: number; doubled: number } {
  const different = new Set(seen);
  return { missing: all.filter((one) => !different.has(one)).length, doubled: seen.length - different.size };
}

const NONE = { missing: 0, doubled: 0 };

test("a kill at any moment of a drain neither loses nor duplicates transitions", async () => {
  const traced = new Traced();
  const replay = await openGame(traced.directory);
  await play(replay);
  const before = traced.changes.length;
  const all = await drained(filesAt(traced.changes, before));
  // The last step of an actor does not have a next step yet.
  expect(all.length).toBe(ACTORS * (STEPS - 1));
  await drain(replay, 0);
  const { changes } = traced;
  expect(changes.length).toBeGreaterThan(before);
  for (let count = before; count <= changes.length; count++) {
    expect(faults(await drained(filesAt(changes, count)), all), `after ${count - before} changes of ${changes.length - before}`).toEqual(NONE);
    if (count === changes.length) break;
    // A signal may interrupt a write.
    for (const part of [0.25, 0.5, 0.75, 0.99]) {
      const files = filesAt(changes, count);
      (changes[count] as Change)(files, part);
      expect(faults(await drained(files), all), `${part} of change ${count - before}`).toEqual(NONE);
    }
  }
  replay.dispose();
});
