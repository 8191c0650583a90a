/** Tests options that are reused in many calls: unchanged options are not checked again, and changes take effect. */
import { expect, test } from "vitest";
import type { SampleOptions } from "../../../src/batch/options.ts";
import { type Batch, f32, i32, Replay } from "../../../src/index.ts";
import { TestRandom } from "../../support/random.ts";
import { scaled, whole } from "../../support/size.ts";

const ROUNDS = scaled(3000, 500);
const LENGTHS = [1, 2];
const COLUMNS = [{ a: { leaf: "x", at: 0 } }, { a: { leaf: "x" } }];

/** The tested values of each option, including invalid values. */
const VALUES: { readonly [name: string]: readonly unknown[] } = {
  into: [0, 1, 2, 3],
  among: [3, 7, -1],
  replacement: [true, false, "no"],
  stratified: [true, false, 1],
  length: [1, 2, 0],
  offset: ["start", "end", "middle"],
  cross: [true, false, 0],
  columns: COLUMNS,
  nStep: [{ n: 1, gamma: 0.5, reward: "r" }],
  mask: [true, false, 1],
  beta: [0.4, 0.6, Number.NaN],
  normalize: ["batch", "none", "table", "max"],
  recycle: [true, false, "detach", 1],
  other: [1],
};

function world() {
  const replay = new Replay({ spec: { x: i32(), r: f32() }, tables: { t: { maxSize: 20 } }, seed: 5 });
  const writer = replay.writer();
  for (let x = 0; x < 30; x++) {
    writer.append({ x, r: x });
    if (x > 0) writer.createItem("t", { length: 1 + (x % 2) });
  }
  const table = replay.tables.t;
  const intos = LENGTHS.flatMap((length) => [table.batch(4, { length }), table.batch(4, { length, beta: 1, mask: true })]);
  return { table, intos };
}

function drawn({ table, intos }: ReturnType<typeof world>, n: number, options: object): unknown {
  const given = options as { into?: unknown };
  const { into } = given;
  if (typeof into === "number") given.into = intos[into];
  try {
    const batch = table.sample(n, options as never) as Batch;
    return batch.detached();
  } catch (error) {
    return String(error);
  } finally {
    if (into !== undefined) given.into = into;
  }
}

test.runIf(whole)("a changed options object has the same effect as a new one", () => {
  const random = new TestRandom(11);
  const [one, other] = [world(), world()];
  const names = Object.keys(VALUES);
  const kept: { [name: string]: unknown } = {};
  const seen = { batches: 0, refusals: 0 };
  for (let round = 0; round < ROUNDS; round++) {
    if (random.below(3) === 0) {
      const name = random.pick(names);
      const value = random.below(2) === 0 ? undefined : random.pick(VALUES[name] as readonly unknown[]);
      if (value === undefined) delete kept[name];
      else kept[name] = value;
    }
    // Without this reset, most calls would fail, because an invalid option stays.
    if (random.below(8) === 0) for (const name of names) delete kept[name];
    const n = random.below(4) === 0 ? 3 : 4;
    const found = drawn(one, n, kept);
    // After a rejected call, all options are checked again.
    expect(drawn(other, 0, {})).toMatch(/^RangeError: n must be/);
    expect([round, kept, found]).toEqual([round, kept, drawn(other, n, { ...kept })]);
    seen[typeof found === "string" ? "refusals" : "batches"]++;
  }
  expect(seen.batches).toBeGreaterThan(ROUNDS / 4);
  expect(seen.refusals).toBeGreaterThan(ROUNDS / 8);
});

test("each option is read once per call", () => {
  const { table } = world();
  const reads: string[] = [];
  const options = new Proxy({ length: 1, beta: 0.5 } as SampleOptions, {
    get(target, name) {
      reads.push(String(name));
      return Reflect.get(target, name);
    },
  });
  for (let k = 0; k < 3; k++) {
    reads.length = 0;
    table.sample(3, options as { length: number; beta: number });
    expect(reads.length).toBe(new Set(reads).size);
  }
});
