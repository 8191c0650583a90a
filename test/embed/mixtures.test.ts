/** Compares mixtures of embed.wasm with mixtures of TypeScript: the same steps must produce the same draws and bytes. */
import { describe, expect, test } from "vitest";
import { f32, i32, type Leaf, mixture, prioritized, Replay, text, u8 } from "../../src/index.ts";
import { TestRandom } from "../support/random.ts";
import { bytesOf } from "../support/refused.ts";
import { type Build, Embed, EmbedError } from "./host.ts";

const VIEWS = `
view a transitions gamma 0.9 weights batch
view b transitions gamma 0.9 n 1 weights batch
view a items`;
const MIXTURE = 3;
const RANDOM_WORDS = 8;

/** Returns a TypeScript Replay with random steps, and an Embed that has loaded its snapshot and has views and a mixture. */
function pair(build: Build, line: string, steps: number, reward: Leaf<"f32"> = f32()) {
  const spec = { observation: f32(3), action: i32(), reward, word: text({ maxBytes: 6 }), wide: u8(300) };
  const tables = { a: { maxSize: 60, sampler: prioritized(0.6) }, b: { maxSize: 30 } };
  const replay = new Replay({ spec, tables, seed: 7, logger: null });
  const writer = replay.writer({
    items: [
      { table: "a", nStep: 3 },
      { table: "b", nStep: 1 },
    ],
  });
  const random = new TestRandom(3);
  for (let t = 0; t < steps; t++) {
    writer.append({
      observation: [t, random.next(), -1],
      action: t % 5,
      reward: (reward.shape.length === 0 ? random.next() : [random.next(), random.next()]) as never,
      word: `w${t % 9}`,
      wide: new Uint8Array(300).fill(t),
    });
    if (t % 13 === 12) writer.endEpisode({ final: { observation: [0, 0, 0], word: "", wide: new Uint8Array(300) }, terminated: true });
  }
  const embed = new Embed(build).load(new Uint8Array(bytesOf(replay)), `${VIEWS}\n${line}`);
  return { embed, views: [replay.table("a").transitions({ gamma: 0.9 }), replay.table("b").transitions({ gamma: 0.9, n: 1 })] as const };
}

/** Draws a batch from the mixture. Returns the bytes of each column by its name. */
function sample(embed: Embed, n: number, beta: number): Map<string, Uint8Array> {
  const count = embed.did(embed.x.replay_sample(embed.handle, MIXTURE, n, beta));
  const { columns, entries } = embed.columns(MIXTURE);
  expect([count, entries]).toEqual([n, n]);
  return new Map(columns.map(({ name, at, bytes }) => [name, embed.u8.slice(at, at + n * bytes)]));
}

const sourceOf = (batch: Map<string, Uint8Array>) => [...(batch.get("source") as Uint8Array)];

interface State {
  readonly random: readonly number[];
  readonly shares: readonly number[];
  readonly carry: readonly number[];
}

/** The number of bytes before a mixture's state in memory. The first four contain the number of sources. */
const HEAD_BYTES = 16;

function stateOf(embed: Embed, sources: number): State {
  const head = embed.x.replay_mixture(embed.handle, MIXTURE) >>> 0;
  if (head === 0) throw new EmbedError(embed.error);
  const { view } = embed;
  expect(view.getUint32(head, true)).toBe(sources);
  const at = head + HEAD_BYTES;
  const numbers = (first: number) => Array.from({ length: sources }, (_, i) => view.getFloat64(at + 4 * RANDOM_WORDS + 8 * (first + i), true));
  return { random: Array.from({ length: RANDOM_WORDS }, (_, i) => view.getUint32(at + 4 * i, true)), shares: numbers(0), carry: numbers(sources) };
}

function setState(embed: Embed, view: number, { random, shares, carry }: State): void {
  const [at = 0] = embed.give(
    new Uint8Array(
      Buffer.concat([Buffer.from(Uint32Array.of(shares.length, 0, 0, 0, ...random).buffer), Buffer.from(Float64Array.from([...shares, ...carry]).buffer)]),
    ),
  );
  embed.did(embed.x.replay_set_mixture(embed.handle, view, at));
}

/** Returns the text at index `i` of a column in which each text takes 12 bytes: a length of 4 bytes, the text, and zeros. */
const textAt = (bytes: Uint8Array, i: number) => new TextDecoder().decode(bytes.subarray(12 * i + 4, 12 * i + 4 + (bytes[12 * i] as number)));

const bytesOfEmbed = (embed: Embed) => Buffer.from(embed.snapshot());

describe.each<Build>(["embed", "embed.scalar"])("mixtures of the build %s", (build) => {
  test.each([
    ["", { exact: true }],
    ["random seed 5", { exact: false, seed: 5 }, f32(2)],
    ["random fallback seed 9007199254740991", { exact: false, seed: 9007199254740991, fallback: "others" as const }],
  ] as [string, object, Leaf<"f32">?][])("draw the same batches as in TypeScript: %s", (words, options, reward) => {
    const { embed, views } = pair(build, `mixture source 0 0.3 source 1 0.5 source 0 1 ${words}`, 90, reward);
    const mix = mixture(
      [views[0], views[1], views[0]].map((from, i) => ({ from, share: [0.3, 0.5, 1][i] as number })),
      options,
    );
    for (const n of [1, 7, 8, 31, 1, 2, 64]) {
      const batch = mix.sample(n, { beta: 0.4 });
      const seen = sample(embed, n, 0.4);
      expect([...seen.keys()]).toEqual([
        ...[
          "observation",
          "action",
          "wide",
          "word",
          "nextObservation",
          "returns",
          "discounts",
          "steps",
          "terminated",
          "truncated",
          "weights",
          "source",
          "keys",
        ],
      ]);
      for (const [name, bytes] of seen) {
        const values = name === "keys" ? batch.keys : (batch as unknown as Record<string, { readonly data: Uint8Array | string[] }>)[name]?.data;
        if (Array.isArray(values)) expect(values, name).toEqual(Array.from(values, (_, i) => textAt(bytes, i)));
        else expect(Buffer.from(bytes), name).toEqual(Buffer.from(new Uint8Array((values as Uint8Array).slice().buffer)));
      }
      const { random, carry } = mix.state();
      expect(stateOf(embed, 3)).toEqual({ random, shares: [0.3, 0.5, 1], carry });
    }
  });

  test("a rejected draw changes nothing, and a fallback draws from the other sources", () => {
    const { embed } = pair(build, "mixture source 0 1 source 1 1", 0);
    expect(() => sample(embed, 4, 1)).toThrow(/EMPTY: table "a" is empty/);
    expect(() => sample(pair(build, "mixture source 0 1 source 1 0 fallback", 0).embed, 4, 1)).toThrow(/EMPTY: table "a"/);
    const { embed: full } = pair(build, "mixture source 0 0.5 source 1 0.5", 20);
    const before = bytesOfEmbed(full);
    expect(() => sample(full, 0, 1)).toThrow(/INVALID: n/);
    expect(() => sample(full, 4, Number.NaN)).toThrow(/INVALID: beta/);
    expect(bytesOfEmbed(full).equals(before)).toBe(true);
    expect(sourceOf(sample(full, 3, 1))).toEqual([0, 0, 1]);
    expect(stateOf(full, 2).carry).toEqual([-0.5, 0.5]);
    const limited = new Embed(build).create(
      "leaf observation f32\nleaf action f32\nleaf reward f32\ntable a size 9\ntable b size 9\nrule a nStep 1\nview a transitions gamma 1\nview b transitions gamma 1\nmixture source 0 1 source 1 1 fallback",
    );
    const steps = limited.pack(Array.from({ length: 3 }, () => new Map(["action", "observation", "reward"].map((name) => [name, new Uint8Array(4)]))));
    const [at = 0] = limited.give(steps);
    limited.did(limited.x.replay_append(limited.handle, 0, at, 3, 0, 0));
    limited.did(limited.x.replay_sample(limited.handle, 2, 5, 0));
    const { columns } = limited.columns(2);
    const of = columns.find(({ name }) => name === "source");
    expect([...limited.u8.slice(of?.at, (of?.at as number) + 5)]).toEqual([0, 0, 0, 0, 0]);
  });

  test("a distinct draw is TOO_FEW if another source of the same table uses up the items", () => {
    const embed = new Embed(build).create(
      "leaf observation f32\nleaf action f32\nleaf reward f32\ntable a size 20 sampler fifo timesSampled 2 minSize 6\nrule a nStep 1\nview a transitions gamma 1 distinct\nview a transitions gamma 1\nmixture source 0 3 source 1 5",
    );
    const steps = embed.pack(Array.from({ length: 9 }, () => new Map(["action", "observation", "reward"].map((name) => [name, new Uint8Array(4)]))));
    const [at = 0] = embed.give(steps);
    embed.did(embed.x.replay_append(embed.handle, 0, at, 9, 0, 0));
    const before = bytesOfEmbed(embed);
    expect(() => embed.did(embed.x.replay_sample(embed.handle, 2, 8, 0))).toThrow(/TOO_FEW: table "a" has 8 items \(6 of them can be drawn\)/);
    expect(bytesOfEmbed(embed).equals(before)).toBe(true);
  });

  test("a mixture's state can be read and set, and setting it changes the shares", () => {
    const { embed } = pair(build, "mixture source 0 1 source 1 1 random seed 3", 40);
    const state = stateOf(embed, 2);
    const seen = sourceOf(sample(embed, 20, 1));
    setState(embed, MIXTURE, state);
    expect(sourceOf(sample(embed, 20, 1))).toEqual(seen);
    setState(embed, MIXTURE, { ...state, shares: [0, 2] });
    expect(sourceOf(sample(embed, 4, 1))).toEqual([1, 1, 1, 1]);
    for (const wrong of [{ shares: [0, 0] }, { shares: [-1, 1] }, { shares: [Number.NaN, 1] }, { carry: [Number.POSITIVE_INFINITY, 0] }])
      expect(() => setState(embed, MIXTURE, { ...state, ...wrong })).toThrow(/INVALID/);
    expect(() => setState(embed, MIXTURE, { ...state, shares: [1, 1, 1], carry: [0, 0, 0] })).toThrow(
      /SPEC_MISMATCH: the state of the mixture must have 2 sources, got 3/,
    );
    expect(stateOf(embed, 2).shares).toEqual([0, 2]);
    expect(() => setState(embed, 0, state)).toThrow(/^NOT_FOUND: view must .*mixture/);
    const [keys = 0] = embed.give(new Uint8Array(8));
    expect(() => embed.did(embed.x.replay_get(embed.handle, MIXTURE, keys, 1))).toThrow(/UNSUPPORTED: a mixture cannot read or write items by key/);
    const [epoch = 0] = embed.give(new Uint8Array(48));
    expect(() => embed.did(embed.x.replay_epoch(embed.handle, MIXTURE, 1, epoch))).toThrow(/UNSUPPORTED: a mixture has no epochs/);
    expect(() => embed.did(embed.x.replay_set_mixture(embed.handle, MIXTURE, 1))).toThrow(/INVALID: the state of the mixture/);
  });

  test.each([
    ["mixture", /a mixture needs a source/],
    ["mixture source 0", /share of a source is required/],
    ["mixture source 3 1", /view of a source must be/],
    ["mixture source 2 1", /must be views of transitions, but view 2 is not/],
    ["mixture source 0 0", /sum of the shares/],
    ["mixture source 0 -1", /share of a source must be/],
    ["mixture of", /source, random, fallback or seed/],
    ["view b transitions gamma 1\nmixture source 0 1 source 3 1", /same columns and the same weights, but view 3 differs/],
  ])("%s is rejected", (line, says) => {
    expect(() => pair(build, line, 9)).toThrow(says);
  });
});
