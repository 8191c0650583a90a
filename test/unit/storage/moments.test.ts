/** Tests readers of a log that is being written: they must return its state at some moment since the call, whatever the owner does in the meantime. */
import { beforeAll, describe, expect, it } from "vitest";
import { openJournal } from "../../../src/datasets/formats/replay/open-journal.ts";
import { openReplay } from "../../../src/datasets/rlds/index.ts";
import type { Directory } from "../../../src/files/directory.ts";
import { f32, Replay, u8 } from "../../../src/index.ts";
import { open, openRecording } from "../../../src/recorder/index.ts";
import { Log } from "../../../src/storage/log/log.ts";
import { stride, whole } from "../../support/size.ts";
import { filesAt, Live, paces, sourceIn, Traced } from "../../support/traced-directory.ts";

type Changes = Traced["changes"];
/** Returns a reader's view as text. */
type State = (dir: Directory) => Promise<string>;

const journal: State = async (dir) => {
  const { replay } = await openJournal(dir, {});
  try {
    const { inserts, size } = replay.table("t").stats();
    const ids = size === 0 ? [] : [...(replay.table("t").sample(size, { replacement: false }).steps.x as { data: Float32Array }).data];
    return JSON.stringify({ inserts, steps: replay.stats().steps, ids: ids.sort((a, b) => a - b) });
  } finally {
    replay.dispose();
  }
};

/** Reads all stored steps. */
const history: State = async (dir) => {
  const reader = await openReplay<{ observation: { x: number } }>(sourceIn(dir));
  try {
    const steps: number[] = [];
    for await (const episode of reader) for (const { observation } of episode.steps) steps.push(observation.x);
    return steps.join();
  } finally {
    await reader.close();
  }
};

const recordingIn = async (from: Parameters<typeof openRecording>[0]): Promise<string> => {
  const episodes: unknown[] = [];
  try {
    for await (const { finished, steps } of await openRecording(from)) episodes.push([finished, ...[...steps].map(({ observation }) => observation)]);
  } catch (error) {
    if ((error as { code?: string }).code !== "EMPTY") throw error;
  }
  return JSON.stringify(episodes);
};

const log: State = async (dir) => {
  const read = Log.open(dir, { about: {}, readOnly: true });
  const groups: number[] = [];
  for (const _ of read.replay((_kind, id) => groups.push(id)));
  read.close();
  return groups.join();
};

/** Records the changes of an owner that is killed and restarts several times. */
async function killed(kills: readonly number[], own: (dir: Directory) => Promise<void>): Promise<Changes> {
  const changes: Changes = [];
  for (const kill of [...kills, Number.POSITIVE_INFINITY]) {
    const traced = new Traced(filesAt(changes, changes.length).files());
    await own(traced.directory);
    changes.push(...traced.changes.slice(0, kill));
  }
  return changes;
}

/** Bytes of padding per step, so that a segment contains about three steps. */
const PAD = 600;

const journalOf = (retain: "all" | "capacity", kills: readonly number[]) =>
  killed(kills, async (dir) => {
    const spec = { x: f32(), pad: u8(PAD) };
    const how = { spec, tables: { t: { maxSize: 3 } }, maxBytes: 600_000, retain, segmentBytes: 4096, durability: "always", logger: null } as const;
    const replay = await Replay.open({ dir, ...how });
    const writer = (replay.writers[0] ?? replay.writer({ items: [{ table: "t", length: 1 }] })) as { append(step: object): void };
    for (let i = 0; i < 14; i++) writer.append({ x: replay.table("t").stats().inserts, pad: new Uint8Array(PAD) });
  });

const recordingOf = (kills: readonly number[]) =>
  killed(kills, async (dir) => {
    const spec = { observation: f32(), action: u8(PAD) };
    const recorder = await open({ dir, spec, fps: 10, segmentBytes: 4096, durability: "always", logger: null });
    for (let i = 0; i < 14; i++) {
      recorder.step({ observation: i, action: new Uint8Array(PAD) });
      if (i % 3 === 2) await recorder.endEpisode({ success: true });
    }
    await recorder.close();
  });

/** Records a log that releases segments as fast as it starts new ones. */
const logOf = (kills: readonly number[]) =>
  killed(kills, async (dir) => {
    const written = Log.open(dir, { about: {}, durability: "always", segmentBytes: 1 });
    for (const _ of written.replay(() => {}));
    for (let i = 0; i < 16; i++) {
      written.write(40, i, new Uint8Array(20));
      written.commit();
      const [oldest] = written.segments;
      if (written.segments.length > 4 && oldest !== undefined) written.drop(oldest.id);
    }
    written.close();
  });

const cases: [name: string, make: () => Promise<Changes>, state: State][] = [
  ["a journal that keeps everything", () => journalOf("all", [23, 18]), journal],
  ["all steps of a journal that keeps everything, by a source", () => journalOf("all", [21]), history],
  ["a journal that gives space back", () => journalOf("capacity", [26, 19]), journal],
  ["a recording", () => recordingOf([27, 20]), recordingIn],
  ["a recording by a source", () => recordingOf([26, 21]), (dir) => recordingIn(sourceIn(dir))],
  ["a log that is read only", () => logOf([31]), log],
];

describe.each(cases)("%s", (_, make, state) => {
  let changes: Changes;
  const states = new Map<number, Promise<string>>();
  /** Returns the state of the files after `count` changes, without a running owner. */
  const stateAt = (count: number): Promise<string> => {
    const found = states.get(count) ?? state(filesAt(changes, count));
    states.set(count, found);
    return found;
  };

  beforeAll(async () => {
    changes = await make();
  });

  it("is read in a state that it had at or after the call", async () => {
    const wrong: string[] = [];
    let number = 0;
    // The first changes create the first segment, and nothing is stored before.
    for (let start = 4; start < changes.length; start += stride(1, 17)) {
      const quiet = new Live(changes, start, () => 0);
      if ((await state(quiet.directory)) !== (await stateAt(start))) wrong.push(`from ${start}, quiet`);
      // If the owner continues, the reader may make some more calls.
      for (const pace of paces(quiet.calls + 2)) {
        if (number++ % stride(6, 41) !== 0) continue;
        const live = new Live(changes, start, pace.changes);
        const read = await state(live.directory).catch((error) => `${error.code}: ${error.message}`);
        const may = await Promise.all(Array.from({ length: live.at - start + 1 }, (_, i) => stateAt(start + i)));
        if (!may.includes(read)) wrong.push(`from ${start}, ${pace.name}: ${read}`);
      }
    }
    expect(new Set(await Promise.all(states.values())).size).toBeGreaterThan(whole ? 20 : 5);
    expect(wrong).toEqual([]);
  }, 120_000);
});
