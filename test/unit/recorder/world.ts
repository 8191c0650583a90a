/** Makes a recording of a robot, and a naive twin with the expected contents as a list of steps. */

import type { ReadEpisode } from "../../../src/datasets/formats/reader.ts";
import { type EndOptions, open, openRecording, type Recorder, type RecordOptions } from "../../../src/recorder/index.ts";
import { bool, f32, f64, i64, text, u8, u16 } from "../../../src/schema/constructors.ts";
import type { StepOf } from "../../../src/schema/spec.ts";
import type { TestRandom } from "../../support/random.ts";

export const SPEC = {
  observation: { front: u8(4, 5, 3), wrist: u8(3, 2, 1), state: f32(3), board: u8(2, 2), ticks: i64() },
  action: { joints: f64(2), grip: bool(), mode: u16() },
  reward: f32(),
  instruction: text({ maxBytes: 24 }),
  words: text({ maxBytes: 5 }, 2),
} as const;

/** All ways to store frames: the encoding and the place. */
export const STORAGES = [
  ["raw", "rows"],
  ["png", "rows"],
  ["raw", "files"],
  ["png", "files"],
] as const;

export type Step = StepOf<typeof SPEC>;

export interface TwinEpisode {
  readonly steps: Step[];
  end?: EndOptions<typeof SPEC> | "discarded";
}

const TASKS = ["pick the cube", "öffne die Tür", ""];
const WORDS = ["", "a", "né", "数", "abcde"];

export function stepOf(random: TestRandom): Step {
  const bytes = (n: number) => Uint8Array.from({ length: n }, () => random.below(256));
  return {
    observation: {
      front: bytes(60),
      wrist: bytes(6),
      state: Float32Array.from({ length: 3 }, () => random.below(1000) / 8),
      board: bytes(4),
      ticks: BigInt(random.below(1e9)) * 4_000_000_001n,
    },
    action: { joints: [random.below(100) / 7, -1], grip: random.below(2) === 1, mode: random.below(65536) },
    reward: random.below(10) / 4,
    instruction: TASKS[random.below(3)] as string,
    words: [WORDS[random.below(5)] as string, WORDS[random.below(5)] as string],
  };
}

export function endOf(random: TestRandom): EndOptions<typeof SPEC> {
  return {
    success: random.below(2) === 1,
    task: TASKS[random.below(3)] as string,
    terminated: random.below(2) === 1,
    ...(random.below(2) === 1 && { final: { observation: stepOf(random).observation } }),
  };
}

export function opened(options: Partial<RecordOptions> & Pick<RecordOptions, "dir">): Promise<Recorder<typeof SPEC>> {
  return open({ spec: SPEC, fps: 30, logger: null, ...options }) as Promise<Recorder<typeof SPEC>>;
}

/** Records random episodes in the recorder and the twin. */
export async function act(recorder: Recorder<typeof SPEC>, twin: TwinEpisode[], random: TestRandom, steps: number): Promise<void> {
  for (let i = 0; i < steps; i++) {
    const last = twin.at(-1);
    if (last !== undefined && last.end === undefined && recorder.length > 0 && random.below(8) === 0) {
      if (random.below(6) === 0) {
        await recorder.discardEpisode();
        last.end = "discarded";
      } else {
        const end = endOf(random);
        await recorder.endEpisode(end);
        last.end = end;
      }
      continue;
    }
    const step = stepOf(random);
    recorder.step(step);
    if (recorder.length === 1) twin.push({ steps: [step] });
    else twin.at(-1)?.steps.push(step);
  }
}

const ZERO = {
  observation: { front: new Uint8Array(60), wrist: new Uint8Array(6), state: new Float32Array(3), board: new Uint8Array(4), ticks: 0n },
  action: { joints: [0, 0], grip: false, mode: 0 },
  reward: 0,
  instruction: "",
  words: ["", ""],
};

/** Returns the episodes that the twin expects. */
export function expected(twin: readonly TwinEpisode[]): object[] {
  return twin.flatMap(({ steps, end }) => {
    if (end === "discarded") return [];
    const { success = false, task = "", terminated = false, final } = end ?? {};
    const all = final === undefined ? steps : [...steps, { ...ZERO, ...(final as object) } as Step];
    const read = all.map((step, i) => {
      const isLast = i === all.length - 1;
      return { ...plain(step), discount: terminated && isLast ? 0 : 1, is_first: i === 0, is_last: isLast, is_terminal: terminated && isLast };
    });
    return [{ task, success, finished: end !== undefined, final_step: final === undefined ? "transition" : "observation", steps: read }];
  });
}

/** Converts typed arrays to arrays of numbers, with sorted keys. */
export function plain(value: unknown): object {
  const of = (one: unknown): unknown => {
    if (ArrayBuffer.isView(one)) return Array.from(one as Uint8Array);
    if (Array.isArray(one)) return one.map(of);
    if (typeof one === "object" && one !== null) return Object.fromEntries(Object.entries(one).map(([key, part]) => [key, of(part)]));
    return one;
  };
  return of(value) as object;
}

export async function read(from: Parameters<typeof openRecording>[0], options?: Parameters<typeof openRecording>[1]): Promise<object[]> {
  const episodes: object[] = [];
  for await (const episode of await openRecording(from, options)) episodes.push(seen(episode));
  return episodes;
}

export function seen({ steps, ...metadata }: ReadEpisode): object {
  return { ...metadata, steps: Array.from(steps, plain) };
}
