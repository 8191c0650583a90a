/** Tests reading a recording with a damaged section in the middle: a reader must return only recorded data, with whole episodes on both sides of the damage. */
import { beforeAll, describe, expect, it, test } from "vitest";
import { open, openRecording } from "../../../src/recorder/index.ts";
import { f32, u8 } from "../../../src/schema/constructors.ts";
import { memory } from "../../../src/storage/index.ts";
import { errorFrom } from "../../support/later.ts";
import { TestRandom } from "../../support/random.ts";
import { expectError } from "../../support/refused.ts";
import { whole } from "../../support/size.ts";
import { plain } from "./world.ts";

const SPECS = {
  numbers: { observation: f32(60), action: f32(2) },
  frames: { observation: { front: u8(8, 8, 3), state: f32(2) }, action: f32(2) },
} as const;
type Kind = keyof typeof SPECS;

const STEPS = 3;
const EPISODES = 14;
const [SEGMENT, COMMIT, SEAL, FRAME, STEP, FINAL, END, INDEX] = [16, 17, 18, 96, 97, 98, 99, 100];

interface ReadBack {
  readonly task: string;
  readonly finished: boolean;
  readonly final_step: string;
  readonly steps: readonly object[];
}

/** Makes a recording with several segments; every second episode has a final observation. */
async function recorded(kind: Kind): Promise<Map<string, Uint8Array>> {
  const dir = memory();
  const recorder = await open({ dir, spec: SPECS[kind] as never, fps: 10, segmentBytes: 4096, durability: "manual", logger: null });
  let value = 0;
  const observation = () => {
    value++;
    const state = Float32Array.from({ length: kind === "numbers" ? 60 : 2 }, (_, i) => value + i / 8);
    return kind === "numbers" ? state : { state, front: new Uint8Array(192).fill(value) };
  };
  for (let episode = 0; episode < EPISODES; episode++) {
    for (let i = 0; i < STEPS; i++) recorder.step({ observation: observation(), action: [value, -value] } as never);
    const final = episode % 2 === 1 ? { final: { observation: observation() } } : {};
    await recorder.endEpisode({ task: `task ${episode}`, ...(final as object) });
  }
  await recorder.close();
  return new Map([...dir.files()].map(([name, bytes]) => [name, bytes.slice()]));
}

async function readAll(files: ReadonlyMap<string, Uint8Array>, salvage: boolean) {
  const recording = await openRecording(new Map(files) as never, { salvage });
  const episodes: ReadBack[] = [];
  for await (const { task, finished, final_step, steps } of recording)
    episodes.push({ task, finished, final_step, steps: [...steps].map((step) => plain(step)) } as never);
  return { episodes, losses: recording.losses ?? [], steps: recording.steps, count: recording.episodes };
}

interface Section {
  readonly file: string;
  readonly kind: number;
  readonly from: number;
  readonly bytes: number;
  /** The number of the episode that the section's step or end belongs to. */
  readonly episode: number | undefined;
}

/** Parses the files; returns all sections in order. */
function sectionsOf(files: ReadonlyMap<string, Uint8Array>): Section[] {
  const sections: Section[] = [];
  let episode = 0;
  let isOver = false;
  for (const file of [...files.keys()].sort()) {
    const bytes = files.get(file) as Uint8Array;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (let from = 8; from < bytes.length; ) {
      const [kind, size] = [view.getUint32(from, true), view.getUint32(from + 8, true)] as const;
      if (isOver && (kind === FRAME || kind === STEP)) [episode, isOver] = [episode + 1, false];
      if (kind === END) isOver = true;
      const isOfEpisode = [FRAME, STEP, FINAL, END].includes(kind);
      sections.push({ file, kind, from, bytes: 16 + size, episode: isOfEpisode ? episode : undefined });
      from += 16 + size;
    }
  }
  return sections;
}

const observed = (steps: readonly object[]) =>
  steps.map((step) => JSON.stringify([(step as { observation: unknown }).observation, (step as { action: unknown }).action]));

/** Checks that the episodes were recorded in this order, each as a whole or as its first steps. Returns the numbers of the whole ones. */
function wholeOf(episodes: readonly ReadBack[], original: readonly ReadBack[]): number[] {
  const numbers: number[] = [];
  let previous = -1;
  for (const episode of episodes) {
    const steps = observed(episode.steps);
    const number = original.findIndex((one) => observed(one.steps)[0] === steps[0]);
    expect(number).toBeGreaterThan(previous);
    previous = number;
    const of = original[number] as ReadBack;
    expect(steps).toEqual(observed(of.steps).slice(0, steps.length));
    if (episode.finished) expect(episode).toEqual(of);
    if (episode.finished) numbers.push(number);
  }
  return numbers;
}

describe.each(["numbers", "frames"] as const)("a recording of %s", (kind) => {
  let files: Map<string, Uint8Array>;
  let original: ReadBack[];
  let sections: Section[];

  beforeAll(async () => {
    files = await recorded(kind);
    original = (await readAll(files, false)).episodes;
    sections = sectionsOf(files);
    expect([files.size > 4, original.length]).toEqual([true, EPISODES]);
  });

  function altered(file: string, alter: (bytes: Uint8Array) => Uint8Array): Map<string, Uint8Array> {
    return new Map(files).set(file, alter((files.get(file) as Uint8Array).slice()));
  }

  const flip = (at: number, mask: number) => (bytes: Uint8Array) => {
    bytes[at] = (bytes[at] as number) ^ mask;
    return bytes;
  };

  it("has no losses if it is undamaged", async () => {
    const { episodes, losses, steps, count } = await readAll(files, true);
    expect([episodes, losses, count]).toEqual([original, [], EPISODES]);
    expect(steps).toBe(original.reduce((sum, one) => sum + one.steps.length, 0));
  });

  it.each([
    ["kind", 0, 2],
    ["id", 4, 1],
    ["length", 8, 4],
    ["checksum", 12, 255],
    ["payload", -1, 128],
  ])("loses only the episode of a section whose %s is damaged", async (part, at, mask) => {
    const newest = sections.at(-1)?.file;
    const first = sections[0]?.file;
    for (const section of sections.filter((_, i) => whole || i % 13 === 0)) {
      const place = section.from + (at < 0 ? section.bytes - 1 : at);
      const damaged = altered(section.file, flip(place, mask));
      const { episodes, losses, steps } = await readAll(damaged, true);
      const read = wholeOf(episodes, original);
      expect(steps).toBe(episodes.reduce((sum, one) => sum + one.steps.length, 0));
      const isLastEnd = section === sections.at(-1) && sections.at(-2)?.kind === END;
      expect(losses.length, `${section.kind} at ${section.file}:${section.from}`).toBeGreaterThan(0);
      expect(losses[0]?.file).toBe(section.file);
      const missing = original.flatMap((_, i) => (read.includes(i) ? [] : [i]));
      const context = `${part} of kind ${section.kind} at ${section.file}:${section.from}: ${losses.map(({ reason }) => reason).join("\n")}`;
      if (section.episode !== undefined) {
        // The segment's index states how an episode ended, but the group of the end contains its final observation.
        const isKnown = section.kind === END && section.file !== newest && section.episode % 2 === 0;
        // If there is no index and the length is wrong, the end might have been a step of the next episode.
        const isUnclear = section.kind === END && section.file === newest && part === "length";
        if (isUnclear) expect([[section.episode], [section.episode, section.episode + 1]], context).toContainEqual(missing);
        else expect(missing, context).toEqual(isKnown ? [] : [section.episode]);
      } else if (section.kind === SEGMENT && section.file === first && part === "length") expect(missing, context).toEqual([0]);
      else if (section.kind === COMMIT && part === "length") expect(missing.length, context).toBeLessThan(3);
      else if (isLastEnd) expect(missing, context).toEqual([EPISODES - 1]);
      else expect(missing, context).toEqual([]);
      expect([SEGMENT, COMMIT, SEAL, FRAME, STEP, FINAL, END, INDEX]).toContain(section.kind);
    }
  });

  it("keeps all episodes if the header of a file is damaged", async () => {
    for (const file of files.keys()) {
      for (const mask of [1, 3, 128]) {
        const { episodes, losses } = await readAll(altered(file, flip(7, mask)), true);
        expect([episodes, losses.length]).toEqual([original, 1]);
      }
    }
  });

  it("loses only the episodes in a file that is missing", async () => {
    for (const file of [...files.keys()].slice(0, -1)) {
      const rest = new Map(files);
      rest.delete(file);
      const { episodes, losses } = await readAll(rest, true);
      const read = wholeOf(episodes, original);
      const hit = new Set(sections.flatMap((section) => (section.file === file && [FRAME, STEP, FINAL].includes(section.kind) ? [section.episode] : [])));
      const present = original.flatMap((_, i) => (hit.has(i) ? [] : [i]));
      expect(read).toEqual(present);
      expect(losses.some(({ file: lost, reason }) => lost === file && /held \d+ steps?|missing/.test(reason))).toBe(true);
    }
  });

  it("yields only recorded data if bytes are removed, inserted or zeroed", async () => {
    const random = new TestRandom(11);
    for (let run = 0; run < (whole ? 60 : 9); run++) {
      let damaged = new Map(files);
      for (let times = 0; times <= run % 3; times++) {
        const name = [...files.keys()][random.below(files.size)] as string;
        const bytes = damaged.get(name) as Uint8Array;
        const [from, length] = [random.below(bytes.length), 1 + random.below(run % 2 === 0 ? 40 : 400)];
        const to = Math.min(bytes.length, from + length);
        const kinds = [
          () => Uint8Array.from([...bytes.subarray(0, from), ...bytes.subarray(to)]),
          () => Uint8Array.from([...bytes.subarray(0, from), ...bytes.subarray(from, to), ...bytes.subarray(from)]),
          () => bytes.slice().fill(0, from, to),
          () => bytes.slice(0, from),
        ];
        damaged = new Map(damaged).set(name, (kinds[random.below(4)] as () => Uint8Array)());
      }
      const { episodes } = await readAll(damaged, true);
      wholeOf(episodes, original);
    }
  });

  it("is also salvaged from a Directory", async () => {
    const step = sections.find(({ kind: of, episode }) => of === STEP && episode === 4) as Section;
    const damaged = altered(step.file, flip(step.from + 20, 1));
    const dir = memory();
    for (const [name, bytes] of damaged) {
      const file = dir.open(name, true);
      file.write(bytes, 0);
      file.close();
    }
    const recording = await openRecording(dir, { salvage: true });
    const { episodes } = await readAll(damaged, true);
    let count = 0;
    for await (const { task } of recording) expect(task).toBe(episodes[count++]?.task);
    expect([count, recording.losses?.length]).toEqual([episodes.length, 2]);
    const behind: string[] = [];
    for await (const { task } of recording.startingAt(6)) behind.push(task as string);
    expect(behind).toEqual(episodes.slice(6).map(({ task }) => task));
  });

  it("throws CORRUPT if it is damaged and read without salvage", async () => {
    const step = sections.find(({ kind: of, episode }) => of === STEP && episode === 4) as Section;
    const damaged = altered(step.file, flip(step.from + 20, 1));
    expectError(await errorFrom(readAll(damaged, false)), "CORRUPT", /Pass salvage: true to read the rest/);
  });

  it("reports how many bytes and steps are lost", async () => {
    const step = sections.find(({ kind: of, episode, file }) => of === STEP && episode === 4 && file !== sections.at(-1)?.file) as Section;
    const { losses } = await readAll(altered(step.file, flip(step.from + 20, 1)), true);
    expect(losses.map(({ reason }) => reason).join("\n")).toMatch(
      /the checksum of a section does not match\. Bytes \d+ to \d+ are lost, and 1 step with them.*\n.*recorded episode 4 (is cut off after|is missing its first)/,
    );
  });
});

test("a recording of one file with a damaged head cannot be read", async () => {
  const dir = memory();
  const recorder = await open({ dir, spec: SPECS.numbers, fps: 10, durability: "manual", logger: null });
  for (let i = 0; i < 9; i++) recorder.step({ observation: new Float32Array(60), action: [0, i] });
  await recorder.endEpisode();
  await recorder.close();
  const [[name, bytes] = ["", new Uint8Array(0)]] = dir.files();
  const damaged = bytes.slice();
  damaged[40] = (damaged[40] as number) ^ 255;
  expectError(await errorFrom(readAll(new Map([[name, damaged]]), true)), "CORRUPT", /./);
});
