/** Tests columns that select a few steps of long windows: the core looks up only these steps. The twin returns all steps. */
import { expect, test } from "vitest";
import { f32, fifo, i32, Replay, shared, text, u8, uniform } from "../../../src/index.ts";
import { TestRandom } from "../../support/random.ts";
import { scaled } from "../../support/size.ts";

const BATCH = 12;
const SPEC = { a: i32(), b: f32(3), c: u8(600), s: text({ maxBytes: 8 }), frames: shared("frames", u8(4), 2) };

/** Creates two equal Replays with items of up to 100 steps, which span blocks of the pool, ends of episodes, and rows that are not adjacent. */
function pair(random: TestRandom, seed: number) {
  const [across, remover] = [random.below(2) === 1, random.below(2) === 1 ? uniform() : fifo()];
  const replays = [0, 1].map(() => new Replay({ spec: SPEC, tables: { t: { maxSize: 15, remover } }, seed, logger: null }));
  const writers = replays.map((replay) => [0, 1].map(() => replay.writer({ keep: 120, across })));
  for (let k = 1; k < 300; k++) {
    const [which, length, ends] = [random.below(2), 1 + random.below(100), random.below(60) === 0];
    const isItem = k === 40 || (k > 40 && random.below(6) === 0);
    const step = {
      a: k,
      b: new Float32Array([k, k + 0.5, -k]),
      c: new Uint8Array(600).fill(k),
      s: `t${k}`,
      frames: new Uint8Array(8).map((_, i) => k + (i >> 2)),
    };
    for (const pair of writers) {
      const writer = pair[which] as (typeof pair)[0];
      writer.append(step);
      if (isItem) writer.createItem("t", { length: Math.min(length, writer.length) });
      if (ends && k !== 39) writer.endEpisode();
    }
  }
  return replays.map((replay) => replay.tables.t);
}

test("columns of a few steps equal those of whole windows", () => {
  const random = new TestRandom(7);
  let long = 0;
  for (let world = 0; world < scaled(200, 16); world++) {
    const [one, two] = pair(random, world) as [ReturnType<typeof pair>[0], ReturnType<typeof pair>[0]];
    const at = 3 + random.below(13);
    // Without the first step, the core replaces the row with which a window begins.
    const start = world % 2 === 0 ? 0 : 2;
    const columns = {
      first: { leaf: "a", at: start },
      last: { leaf: "b", at: -1 },
      later: { leaf: "c", at },
      word: { leaf: "s", at: -2 },
      tail: { leaf: "a", from: -3 },
      head: { leaf: "c", from: start + 1, to: start + 4 },
      frame: { leaf: "frames", at: -1 },
    } as const;
    for (let call = 0; call < 3; call++) {
      const length = random.below(2) === 1 ? undefined : 17 + random.below(90);
      const options = { cross: random.below(2) === 1, offset: random.pick(["start", "end", "uniform"] as const), ...(length && { length }) };
      const whole = one.sample(BATCH, options);
      const into = length !== undefined && call === 2 ? two.batch(BATCH, { length, columns }) : undefined;
      const { cross, offset } = options;
      const part = two.sample(BATCH, into === undefined ? { ...options, columns } : { cross, offset, columns, into });
      const width = whole.steps.a.shape[1] as number;
      if (width > 16) long++;
      expect([part.count, ...part.lengths]).toEqual([whole.count, ...whole.lengths]);
      for (let i = 0; i < whole.count; i++) {
        const steps = whole.lengths[i] as number;
        // Padding is 0.
        const a = (step: number) => (step < 0 || step >= steps ? 0 : (whole.steps.a.data[i * width + step] as number));
        const { first, last, later, word, tail, head, frame } = part.steps;
        expect(first.data[i]).toBe(a(start));
        expect([...last.data.subarray(3 * i, 3 * i + 3)]).toEqual([a(steps - 1), a(steps - 1) + 0.5, -a(steps - 1)]);
        expect(later.data[600 * i + 599]).toBe(a(at) & 255);
        expect(word.data[i]).toBe(steps < 2 ? "" : `t${a(steps - 2)}`);
        if (steps >= 3) expect([...tail.data.subarray(3 * i, 3 * i + 3)]).toEqual([a(steps - 3), a(steps - 2), a(steps - 1)]);
        for (let k = 0; k < 3; k++) expect(head.data[600 * (3 * i + k)]).toBe(a(start + 1 + k) & 255);
        const newest = a(steps - 1);
        expect([frame.data[8 * i], frame.data[8 * i + 7]]).toEqual([newest & 255, (newest + 1) & 255]);
      }
    }
  }
  expect(long).toBeGreaterThan(scaled(40, 10));
});
