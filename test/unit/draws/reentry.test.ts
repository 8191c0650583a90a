/** Tests options whose getters call the Replay that is reading the options. */
import { expect, test } from "vitest";
import { f32, fifo, i32, prioritized, Replay } from "../../../src/index.ts";
import { broken } from "../../support/health.ts";
import { bytesOf, errorOf } from "../../support/refused.ts";

const spec = { observation: f32(2), action: i32(), reward: f32() };

function filled() {
  const sampler = prioritized(1, { withMin: true });
  const replay = new Replay({ spec, tables: { t: { maxSize: 20, sampler, remover: fifo() } }, seed: 3, logger: null });
  const writer = replay.writer({ keep: 10 });
  for (let i = 0; i < 10; i++) writer.append({ observation: [i, -i], action: i, reward: 1 });
  for (const [i, length] of [3, 3, 4, 4].entries()) {
    const columns = { now: { leaf: "observation", at: 0 }, list: { leaf: "action", steps: i % 2 === 0 ? [0, 1] : [1] } } as const;
    writer.createItem("t", { length, columns });
  }
  const { t } = replay.tables;
  return { replay, writer, t, view: t.transitions({ gamma: 0.9 }) };
}

const COLUMNS = { a: { leaf: "action", at: 0 } } as const;
const NSTEP = { n: 2, gamma: 0.5, reward: "reward" } as const;
const SAMPLE = {
  replacement: true,
  among: undefined,
  stratified: false,
  length: 3,
  offset: "start",
  cross: true,
  columns: COLUMNS,
  nStep: NSTEP,
  mask: true,
  beta: 0.5,
  normalize: "table",
};
const VIEW = { replacement: true, among: undefined, stratified: false, beta: 0.5, normalize: "table" };

for (const kind of ["table", "view"] as const)
  test.each(Object.entries(kind === "table" ? SAMPLE : VIEW))(
    `a getter of %s cannot call the Replay during sample of a ${kind}, and the draw is unaffected`,
    (name, value) => {
      for (const alone of [true, false]) {
        const [world, twin] = [filled(), filled()];
        const others = alone ? {} : { mask: kind === "table" ? true : undefined, beta: 0.25 };
        const given = Object.fromEntries(Object.entries({ ...others, [name]: value }).filter(([, one]) => one !== undefined));
        let calls = 0;
        const options = Object.defineProperty({ ...given }, name, {
          enumerable: true,
          get: () => {
            calls++;
            const { t, writer, view } = world;
            for (const call of [
              () => t.sample(2),
              () => view.sample(2),
              () => t.clear(),
              () => writer.createItem("t", { length: 9, priority: 1000 }),
              () => t.updatePriorities([1], [5]),
            ])
              expect((errorOf(call as never) as { code?: string }).code).toBe("OUT_OF_TURN");
            return value;
          },
        });
        const from = ({ t, view }: typeof world) => (kind === "table" ? t : view) as { sample(n: number, options: object): { toArray(): unknown[] } };
        const [drawn, expected] = [from(world).sample(6, options), from(twin).sample(6, given)];
        expect(calls).toBeGreaterThan(0);
        expect({ ...drawn }).toEqual({ ...expected });
        expect(bytesOf(world.replay)).toEqual(bytesOf(twin.replay));
        expect(broken(world.replay)).toEqual([]);
      }
    },
  );
