import { expect, test } from "vitest";
import { ReplayBuffer } from "../../../src/pfrl/index.ts";

test("first light", () => {
  const b = new ReplayBuffer(4, 3, { seed: 5 });
  for (let i = 0; i < 6; i++)
    b.append({
      state: new Float32Array([i, i + 0.5]),
      action: i,
      reward: i / 4,
      nextState: new Float32Array([i + 1, i + 1.5]),
      isStateTerminal: i === 5,
      tag: `t${i}`,
      logp: -i,
    });
  console.log(b.length, JSON.stringify([...b.items()]));
  const batch = b.sample(3);
  console.log(batch);
  console.log(JSON.stringify(b.sample(2, { form: "list" })));
  expect(b.sample(3, { into: batch })).toBe(batch);
  const c = new ReplayBuffer({ numSteps: 2 });
  for (let i = 0; i < 5000; i++) c.append({ state: i, action: "a" + i, reward: 1, nextState: i + 1, isStateTerminal: i % 7 === 0, envId: i % 3 });
  console.log(c.length, c.running());
  console.log(c.sample(3));
  console.log(JSON.stringify(c.sample(2, { form: "list" })));
});
