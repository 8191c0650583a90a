import type { RldsStep } from "../../../../src/datasets/rlds/index.ts";

/** Returns the same steps as write_rlds_transformations.py. */
export function goldenSteps(length: number, number = 0, terminal = false): RldsStep[] {
  return Array.from({ length }, (_, i) => {
    const isLast = i === length - 1;
    return {
      observation: { state: new Float32Array([number + 1, ((i * i) % 7) - 2.5, 0.25 * i * (number + 1)]), goal: i * 3 + number },
      action: new Float32Array(isLast ? [0, 0] : [i, -1.5]),
      reward: isLast ? 0 : number + i / 8,
      discount: 1,
      is_first: i === 0,
      is_last: isLast,
      is_terminal: isLast && terminal,
    };
  });
}
