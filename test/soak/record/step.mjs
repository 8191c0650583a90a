// Generates steps whose values all follow from a few numbers in the step, so that a reader can check that a step is unchanged.
import { f32, i32, text, u8 } from "reprise";

export const HEIGHT = 24;
export const WIDTH = 32;

export const SPEC = {
  observation: { front: u8(HEIGHT, WIDTH, 3), wrist: u8(HEIGHT, WIDTH, 1), numbers: i32(5), state: f32(4) },
  action: f32(3),
  reward: f32(),
  instruction: text({ maxBytes: 40 }),
};

/** @param plan the session, the attempt, the length of the episode, and whether it will be discarded (1) */
export function stepOf(episode, step, plan) {
  const numbers = Int32Array.of(episode, step, ...plan);
  const seed = numbers.reduce((sum, number) => Math.imul(sum ^ number, 0x9e3779b1) >>> 0, 7);
  const noise = noiseOf(seed);
  return {
    observation: {
      front: Uint8Array.from({ length: HEIGHT * WIDTH * 3 }, (_, i) => (i + step + (noise() & 7)) & 255),
      wrist: Uint8Array.from({ length: HEIGHT * WIDTH }, () => noise() & 255),
      numbers,
      state: Float32Array.from({ length: 4 }, () => (noise() & 65535) / 256),
    },
    action: Float32Array.from({ length: 3 }, () => (noise() & 255) / 16),
    reward: noise() & 3,
    instruction: `pick ${seed % 1000} cubes`,
  };
}

export const taskOf = (episode) => `task ${episode % 7}`;
export const successOf = (episode, length) => (episode + length) % 3 === 0;

/** @returns the difference between a step and the recorded step, or undefined if there is none */
export function wrongIn(step, episode, at) {
  const [, , ...plan] = step.observation.numbers;
  const meant = stepOf(episode, at, plan);
  const same = (a, b) =>
    ArrayBuffer.isView(a) ? Buffer.from(a.buffer, a.byteOffset, a.byteLength).equals(Buffer.from(b.buffer, b.byteOffset, b.byteLength)) : a === b;
  const found = [...Object.keys(meant.observation).map((name) => [name, step.observation[name], meant.observation[name]])];
  for (const name of ["action", "reward", "instruction"]) found.push([name, step[name], meant[name]]);
  return found.find(([, a, b]) => !same(a, b))?.[0];
}

export function noiseOf(seed) {
  let state = seed | 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
}
