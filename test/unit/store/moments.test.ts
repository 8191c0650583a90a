/** Readers of a log that is being written: they see what the files were at some moment at or after the call, whatever the owner does between two of their calls. */
import { beforeAll, describe, expect, it } from "vitest";
import { openJournal } from "../../../src/formats/replay/open-journal.ts";
import { f32, Replay } from "../../../src/index.ts";
import { open, openRecording } from "../../../src/record/index.ts";
import { openReplay, type SourceFolder } from "../../../src/rlds/index.ts";
import type { Directory } from "../../../src/store/directory/directory.ts";
import type { memory } from "../../../src/store/directory/memory.ts";
import { Log } from "../../../src/store/log/log.ts";
import { whole } from "../../support/size.ts";
import { filesAt, Live, paces, Traced } from "../../support/traced-directory.ts";

type Changes = Traced["changes"];
type State = (dir: Directory) => Promise<string>;

const journal: State = async (dir) => {
  const { replay } = await openJournal(dir, {});
  try {
    const { inserts, size } = replay.table("t").stats();
    const { steps } = replay.stats();
    const ids = size === 0 ? [] : [...(replay.table("t").sample(size, { replacement: false }).steps.x as { data: Float32Array }).data];
    return JSON.stringify({ inserts, steps, ids: ids.sort((a, b) => a - b) });
  } finally {
    replay.dispose();
  }
};

const recording: State = async (dir) => {
  const episodes: unknown[] = [];
  try {
    for await (const { finished, steps } of await openRecording(dir)) episodes.push([finished, ...[...steps].map(({ observation }) => observation)]);
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

const files = (dir: Directory): Map<string, Uint8Array<ArrayBuffer>> => (dir as ReturnType<typeof memory>).files();

/** A journal whose owner is killed after some of its changes, and begins anew. */
async function journalOf(retain: "all" | "capacity", kills: readonly number[]): Promise<Changes> {
  const changes: Changes = [];
  for (const kill of [...kills, Number.POSITIVE_INFINITY]) {
    const own = new Traced(files(filesAt(changes, changes.length)));
    const tables = { t: { maxSize: 5 } };
    const replay = await Replay.open({ dir: own.directory, spec: { x: f32() }, tables, retain, segmentBytes: 4096, durability: "always", logger: null });
    const x = () => replay.table("t").stats().inserts;
    const writer = replay.writers[0] ?? replay.writer({ items: [{ table: "t", length: 1 }] });
    for (let i = 0; i < (retain === "all" ? 60 : 40); i++) (writer as { append(step: object): void }).append({ x: x() });
    changes.push(...own.changes.slice(0, kill));
  }
  return changes;
}

async function recordingOf(kills: readonly number[]): Promise<Changes> {
  const changes: Changes = [];
  for (const kill of [...kills, Number.POSITIVE_INFINITY]) {
    const own = new Traced(files(filesAt(changes, changes.length)));
    const spec = { observation: f32(), action: f32() };
    const recorder = await open({ dir: own.directory, spec, fps: 10, segmentBytes: 4096, durability: "always", logger: null });
    for (let i = 0; i < 70; i++) {
      recorder.step({ observation: i, action: 0 });
      if (i % 7 === 6) await recorder.endEpisode({ success: true });
    }
    await recorder.close();
    changes.push(...own.changes.slice(0, kill));
  }
  return changes;
}

/** A log that gives segments back as fast as it begins new ones. */
function logOf(): Changes {
  const own = new Traced();
  const written = Log.open(own.directory, { about: {}, durability: "always", segmentBytes: 1 });
  for (let i = 0; i < 60; i++) {
    written.write(40, i, new Uint8Array(20));
    written.commit();
    const [oldest] = written.segments;
    if (written.segments.length > 6 && oldest !== undefined) written.drop(oldest.id);
  }
  written.close();
  return own.changes;
}

const cases = [
  { name: "a journal that keeps everything", make: () => journalOf("all", [41, 60]), state: journal, calls: 24, runs: 3 },
  { name: "a journal that gives space back", make: () => journalOf("capacity", [35, 48]), state: journal, calls: 24, runs: 3 },
  { name: "a recording", make: () => recordingOf([25, 44]), state: recording, calls: 40, runs: 8 },
  { name: "a log that is read only", make: async () => logOf(), state: log, calls: 24, runs: 12 },
];

describe.each(cases)("$name", ({ make, state, calls, runs }) => {
  let changes: Changes;
  const states = new Map<number, Promise<string>>();
  /** What nobody changes any more, after so many changes. */
  const stateAt = (count: number): Promise<string> => {
    const found = states.get(count) ?? state(filesAt(changes, count));
    states.set(count, found);
    return found;
  };

  beforeAll(async () => {
    changes = await make();
  });

  it("has states that a reader can tell apart", async () => {
    const all = await Promise.all([...Array(8).keys()].map((i) => stateAt(Math.floor(((i + 1) * changes.length) / 8))));
    expect(new Set(all).size).toBeGreaterThan(5);
  });

  it("is read as it was at some moment at or after the call", async () => {
    // Until its first segment has begun there is nothing.
    const first = 4;
    const all = paces(calls);
    const combinations = (changes.length - first) * all.length;
    // Every combination, or some of them that share no factor with either.
    const stride = whole ? 1 : Math.floor(combinations / runs) | 1;
    for (let i = 0; i < combinations; i += stride) {
      const [start, k] = [first + Math.floor(i / all.length), i % all.length];
      const pace = all[k] as (typeof all)[number];
      const live = new Live(changes, start, pace);
      const read = await state(live.directory).catch((error) => `${error.code}: ${error.message} (start ${start}, pace ${k}, call ${live.calls})`);
      let found = false;
      for (let at = start; at <= live.at && !found; at++) found = (await stateAt(at)) === read;
      if (!found) expect(read).toBe(`a state from ${start} to ${live.at}, pace ${k}`);
    }
  }, 600_000);
});
