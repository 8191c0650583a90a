/** Tests the names of writers in embed.wasm: in the text, in snapshots of both sides, and in lines after a snapshot. */
import { describe, expect, test } from "vitest";
import { f32, prioritized, Replay } from "../../src/index.ts";
import { Embed } from "./host.ts";

const TEXT = `leaf observation f32
leaf action f32
leaf reward f32
table memory size 20 sampler prioritized 0.6
table windows size 20`;
const WRITERS = `writer name "the first" keep 40 lanes 2 autoreset nextStep
rule memory nStep 2
writer
rule windows length 2
writer name third across
rule windows length 3 stride 2 priority 2`;

// The leaves are in the order that all hosts use.
const spec = { action: f32(), observation: f32(), reward: f32() };
const tables = { memory: { maxSize: 20, sampler: prioritized(0.6) }, windows: { maxSize: 20 } };

/** Returns a TypeScript Replay with the tables of TEXT and the writers of WRITERS. */
function twin(): Replay {
  const replay = new Replay({ spec, tables, logger: null });
  replay.writer({ name: "the first", keep: 40, lanes: 2, autoreset: "nextStep", items: [{ table: "memory", nStep: 2 }] });
  replay.writer({ items: [{ table: "windows", length: 2 }] });
  replay.writer({ name: "third", across: true, items: [{ table: "windows", length: 3, stride: 2, priority: 2 }] });
  return replay;
}

const bytesOf = (replay: Replay) => new Uint8Array(Buffer.concat([...replay.snapshot()]));
const sizes = (embed: Embed) => [0, 1].map((table) => embed.stats(table)[0]);

function append(embed: Embed, writer: number, n: number): void {
  const { stepBytes } = embed.columns(-1);
  const [at = 0] = embed.give(new Uint8Array(stepBytes * n).fill(1));
  embed.did(embed.x.replay_append(embed.handle, writer, at, n, 0, 0));
}

function played(): Embed {
  const embed = new Embed().create(`${TEXT}\n${WRITERS}`);
  append(embed, 0, 10);
  append(embed, 1, 3);
  append(embed, 2, 4);
  return embed;
}

test("both sides write names as the same bytes and keep them across snapshots", () => {
  const there = new Embed().create(`${TEXT}\n${WRITERS}`).snapshot();
  expect(Buffer.from(there).equals(Buffer.from(bytesOf(twin())))).toBe(true);
  const here = Replay.restore(played().snapshot(), { logger: null });
  expect(here.writers.map(({ options }) => options.name)).toEqual(["the first", undefined, "third"]);
  const again = new Embed().load(bytesOf(here));
  expect(Buffer.from(again.snapshot()).equals(Buffer.from(bytesOf(here)))).toBe(true);
  const first = here.writer({ name: "the first", keep: 40, lanes: 2, autoreset: "nextStep", items: [{ table: "memory", nStep: 2 }] } as never);
  expect([first.episodeSteps, here.writers.length]).toEqual([5, 3]);
});

describe("a text after a snapshot", () => {
  test("selects writers by name, which keep their numbers and episodes", () => {
    let bytes = played().snapshot();
    for (let run = 1; run <= 5; run++) {
      const embed = new Embed().load(
        bytes,
        `writer name third across\nrule windows length 3 stride 2 priority 2\nwriter name "the first" keep 40 lanes 2 autoreset nextStep\nrule memory nStep 2`,
      );
      append(embed, 0, 2);
      bytes = embed.snapshot();
      expect(Replay.restore(bytes, { logger: null }).writers.map(({ options, episodeSteps }) => [options.name, episodeSteps])).toEqual([
        ["the first", 5 + run],
        [undefined, 3],
        ["third", 4],
      ]);
    }
  });

  test("may add writers, which are numbered after those of the snapshot", () => {
    const embed = new Embed().load(played().snapshot(), `${WRITERS}\nwriter name fourth\nrule windows length 1`);
    // The second `writer` line has no name, so it defines a new writer (number 3). The writer named fourth is number 4.
    append(embed, 3, 2);
    append(embed, 4, 1);
    expect(sizes(embed)).toEqual([6, 2 + 1 + 1 + 1]);
    const names = Replay.restore(embed.snapshot(), { logger: null }).writers.map(({ options }) => options.name);
    expect(names).toEqual(["the first", undefined, "third", undefined, "fourth"]);
  });

  test.each([
    ["lanes 1", 'writer name "the first" keep 40 autoreset nextStep\nrule memory nStep 2', /^SPEC_MISMATCH: lanes of the writer "the first" must .*2.*got 1$/],
    ["keep", "writer name third across keep 33\nrule windows length 3 stride 2 priority 2", /^SPEC_MISMATCH: keep of the writer "third" must .*32.*got 33$/],
    ["across", "writer name third\nrule windows length 3 stride 2 priority 2", /^SPEC_MISMATCH: across of the writer "third" must /],
    [
      "autoreset",
      "writer name third across autoreset nextStep\nrule windows length 3 stride 2 priority 2",
      /^SPEC_MISMATCH: autoreset of the writer "third" must /,
    ],
    ["no rule", "writer name third across", /^SPEC_MISMATCH: the number of rules of the writer "third" must .*1.*got 0$/],
    ["another rule", "writer name third across\nrule windows length 3 stride 2", /^SPEC_MISMATCH: the rules of the writer "third" must .*rule 0 /],
  ])("is rejected if it changes the options of a named writer: %s", (_, lines, why) => {
    const bytes = played().snapshot();
    const embed = new Embed();
    expect(() => embed.load(bytes, lines)).toThrowError(why);
    expect(sizes(embed.load(bytes))).toEqual(sizes(played()));
  });

  test("may name each writer only once", () => {
    const third = "writer name third across\nrule windows length 3 stride 2 priority 2\n";
    expect(() => new Embed().load(played().snapshot(), third + third)).toThrowError('INVALID: line 3: the name of a writer must be unique, got "third"');
  });

  test("with `writers close` ends their episodes as close() does, and the writers stay usable", () => {
    const bytes = played().snapshot();
    const closed = Replay.restore(bytes, { logger: null, writers: "close" });
    const embed = new Embed().load(bytes, "writers close");
    const left = Replay.restore(embed.snapshot(), { logger: null });
    expect(sizes(embed)).toEqual([closed.table("memory").size, closed.table("windows").size]);
    expect(sizes(embed)[0]).toBeGreaterThan(sizes(played())[0] as number);
    expect(left.writers.map(({ length, episodeSteps }) => [length, episodeSteps])).toEqual([
      [0, 0],
      [0, 0],
      [0, 0],
    ]);
    expect(left.stats().steps).toBe(closed.stats().steps);
    append(embed, 0, 4);
    append(embed, 1, 2);
    expect(sizes(embed)[1]).toBe(closed.table("windows").size + 1);
    const kept = new Embed().load(bytes, "writers keep");
    expect(Buffer.from(kept.snapshot()).equals(Buffer.from(bytes))).toBe(true);
  });
});

test.each<[string, RegExp]>([
  ["writer name", /^INVALID: line 6: the name of a writer is required$/],
  ['writer name ""', /^INVALID: line 6: the name of a writer must not be empty/],
  ["writer name a\nwriter name b\nwriter name a", /^INVALID: line 8: the name of a writer must be unique, got "a"/],
  ["writers", /^INVALID: line 6: the word after writers is required/],
  ["writers open", /^INVALID: line 6: the word must be keep or close, got "open"/],
  ["writers close now", /^INVALID: line 6: the line must end here, got "now"/],
])("an invalid `writer name` or `writers` line is rejected: %s", (lines, why) => {
  expect(() => new Embed().create(`${TEXT}\n${lines}`)).toThrowError(why);
});

test("a writer name with a lone surrogate is rejected, and special characters are kept", () => {
  const replay = new Replay({ spec, tables });
  replay.writer({ name: "\ud800" });
  expect(() => new Embed().load(bytesOf(replay))).toThrowError(/^UNSUPPORTED: the snapshot has rules .*UTF-8/);
  const odd = new Replay({ spec, tables });
  odd.writer({ name: 'a "b"\\\n#é€𝄞\r' });
  expect(Buffer.from(new Embed().load(bytesOf(odd)).snapshot()).equals(Buffer.from(bytesOf(odd)))).toBe(true);
});
