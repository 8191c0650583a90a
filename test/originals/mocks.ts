/** Implements the environment and the policy of TF-Agents' driver tests: actions 1 and 2 alternate, and repeatedly raise a count from 0 to 3. */

import { i32 } from "../../src/index.ts";
import { type PolicyStep, restart, type TimeStep, termination, trajectorySpec, transition } from "../../src/tf-agents/index.ts";

export const SPEC = trajectorySpec({ observation: i32(), action: i32(), policyInfo: i32() });

const FINAL = 3;

export function environment() {
  let count = 0;
  const reset = (): TimeStep<Int32Array> => {
    count = 0;
    return restart(Int32Array.of(0), { batchSize: 1 });
  };
  return {
    reset,
    step([action = 0]: ArrayLike<number> & Iterable<number>): TimeStep<Int32Array> {
      if (count >= FINAL) return reset();
      count += action;
      return (count < FINAL ? transition : termination)(Int32Array.of(count), [1]);
    },
  };
}

export const policy = {
  initialState: () => Int32Array.of(0),
  action(timeStep: TimeStep<Int32Array>, given: unknown): PolicyStep<Int32Array, Int32Array> {
    const [isFirst] = timeStep.stepType as unknown as number[];
    const [state = 0] = isFirst === 0 ? [0] : (given as Int32Array);
    const action = (state % 2) + 1;
    return { action: Int32Array.of(action), state: Int32Array.of(state + 1), info: Int32Array.of(2 * action) };
  },
};
