/** Makes calls with invalid arguments. Each call must be rejected with a text, must not trap, and must change nothing. */
import { beforeEach, describe, expect, test } from "vitest";
import { TestRandom } from "../support/random.ts";
import { scaled } from "../support/size.ts";
import { Embed, TEXT, textBytes } from "./host.ts";

/** Numbers around the limits of i32, u32, u64 and exact integers in doubles (2^53), and negative, fractional, non-finite and extreme numbers. */
const EDGES = [2 ** 31 - 1, 2 ** 31, 2 ** 31 + 1, 2 ** 32 - 65536, 2 ** 32 - 16, 2 ** 32 - 1, 2 ** 32, 2 ** 32 + 1, 2 ** 53 - 1, 2 ** 53, 2 ** 53 + 2];
EDGES.push(2 ** 64 - 2048, 2 ** 64, 2 ** 64 + 4096, -1, -(2 ** 31), -(2 ** 31) - 1, -(2 ** 53), 0.5, 5e-324, 1e300, Number.NaN, Number.POSITIVE_INFINITY);

/** Calls that return an address or a handle. They return 0 if they are rejected. */
const ADDRESSES = ["replay_input", "replay_create", "replay_load", "replay_columns", "replay_stats", "replay_writer", "replay_save"];

describe("a call", () => {
  let embed: Embed;
  let step: Uint8Array;
  const value = (name: string, bytes: number): Uint8Array => (name === "task" ? textBytes("go", 5) : new Uint8Array(bytes));

  beforeEach(() => {
    embed = new Embed().create(TEXT);
    const { columns } = embed.columns(-1);
    step = embed.pack([new Map(columns.map(({ name, bytes }) => [name, value(name, bytes)]))]);
    const [at = 0] = embed.give(step);
    for (let i = 0; i < 5; i++) embed.did(embed.x.replay_append(embed.handle, 0, at, 1, 0, 0));
  });

  /** Returns all counters except the bytes in use, because a region may have grown. */
  function state(): string {
    return embed.stats(0).slice(0, 12).join();
  }

  test.each<[string, (x: Embed["x"], handle: number, at: number) => number, RegExp]>([
    ["append to an unknown writer", (x, h, at) => x.replay_append(h, 2, at, 1, 0, 0), /^NOT_FOUND: writer must .*up to 1, got 2/],
    ["append of nothing", (x, h, at) => x.replay_append(h, 0, at, 0, 0, 0), /n must be an integer from 1/],
    ["append of half the lanes", (x, h, at) => x.replay_append(h, 1, at, 1, 0, 0), /a multiple of the 2 lanes, got 1/],
    ["append from null", (x, h) => x.replay_append(h, 0, 0, 1, 0, 0), /^INVALID: steps must be 48 bytes inside the /],
    ["append from beyond the input", (x, h, at) => x.replay_append(h, 0, at + 4096 * 64, 1, 0, 0), /steps must be 48 bytes/],
    ["append of more bytes than the input has", (x, h, at) => x.replay_append(h, 0, at, 1_000_000, 0, 0), /steps must be 48000000 bytes/],
    ["append with ends nowhere", (x, h, at) => x.replay_append(h, 0, at, 1, 12, 0), /ends must be 1 bytes/],
    ["append with an end of 9", (x, h, at) => x.replay_append(h, 0, at, 1, at + 16, 0), /ends\[0\] must be an integer from 0 to 3, got 9/],
    ["append that is truncated without a final step", (x, h, at) => x.replay_append(h, 0, at, 1, at + 17, 0), /requires a final step/],
    ["append with finals nowhere", (x, h, at) => x.replay_append(h, 0, at, 1, at + 17, 8), /finals must be 48 bytes/],
    ["append with finals where they come as steps", (x, h, at) => x.replay_append(h, 1, at, 2, at + 17, at), /with autoreset nextStep/],
    [
      "append of an end behind an end",
      (x, h, at) => x.replay_append(h, 1, at + 640, 4, at + 400, 0),
      /^INVALID_DATA: the next step of lane 0 is the final step/,
    ],
    ["append of a flag of 2", (x, h, at) => x.replay_append(h, 0, at + 64, 1, 0, 0), /^INVALID_DATA: step\[0\]: "done"\[0\] must be 0 or 1, got 2/],
    ["append of a text that is too long", (x, h, at) => x.replay_append(h, 0, at + 128, 1, 0, 0), /"task"\[0\] must have at most 5 bytes, got 6/],
    ["append of an invalid text", (x, h, at) => x.replay_append(h, 0, at + 192, 1, 0, 0), /"task"\[0\] must be UTF-8/],
    ["append of a text with bytes after its end", (x, h, at) => x.replay_append(h, 0, at + 256, 1, 0, 0), /must have zeros after its text/],
    ["append of good and bad steps", (x, h, at) => x.replay_append(h, 0, at + 448, 2, 0, 0), /^INVALID_DATA: step\[1\]: "done"\[0\] must be 0 or 1/],
    ["append of a reward that is infinite", (x, h, at) => x.replay_append(h, 0, at + 320, 1, 0, 0), /^INVALID_DATA: "reward" must be finite.*, got Infinity/],
    ["end without saying how", (x, h) => x.replay_end(h, 0, 0, 1, 0), /must end as truncated \(2\) or terminated \(3\)/],
    ["end in another way", (x, h) => x.replay_end(h, 0, 0, 4, 0), /how must be 1 .*, got 4/],
    ["end of an unknown lane", (x, h, at) => x.replay_end(h, 0, 1, 3, at), /lane must be an integer from 0 to 0, got 1/],
    ["end with a final step nowhere", (x, h) => x.replay_end(h, 0, 0, 3, 4), /final must be 48 bytes/],
    ["end without a final step where it is truncated", (x, h) => x.replay_end(h, 0, 0, 2, 0), /requires a final step/],
    ["end without an open episode", (x, h) => x.replay_end(h, 1, 1, 3, 0), /^OUT_OF_TURN: the episode of lane 1 cannot end here/],
    ["item of an unknown table", (x, h) => x.replay_item(h, 0, 0, 1, 1, 1), /^NOT_FOUND: table must .*got 1/],
    ["item that is too long", (x, h) => x.replay_item(h, 0, 0, 0, 6, 1), /length must .*5.*got 6/],
    ["item of nothing", (x, h) => x.replay_item(h, 0, 0, 0, 0, 1), /length must be an integer from 1/],
    ["item with a priority below 0", (x, h) => x.replay_item(h, 0, 0, 0, 1, -1), /priority must be a finite number >= 0, .*, got -1/],
    ["item with no number as priority", (x, h) => x.replay_item(h, 0, 0, 0, 1, Number.NaN), /got NaN/],
    ["sample of no view", (x, h) => x.replay_sample(h, 2, 1, 0), /^NOT_FOUND: view must .*got 2/],
    ["sample of nothing", (x, h) => x.replay_sample(h, 0, 0, 0), /n must be an integer from 1/],
    ["sample with no number as beta", (x, h) => x.replay_sample(h, 0, 1, Number.NaN), /beta must be a finite number, got NaN/],
    ["update from null", (x, h, at) => x.replay_update(h, 0, 0, at, 1), /keys must be 8 bytes/],
    ["update to null", (x, h, at) => x.replay_update(h, 0, at, 0, 1), /priorities must be 8 bytes/],
    ["update of more than there is", (x, h, at) => x.replay_update(h, 0, at, at, 1e7), /keys must be 80000000 bytes/],
    ["update to a priority below 0", (x, h, at) => x.replay_update(h, 0, at + 600, at + 384, 1), /priorities\[0\] must be a finite number >= 0/],
    [
      "update of what can be no key",
      (x, h, at) => x.replay_update(h, 0, at + 896, at + 384, 3),
      /^INVALID: keys\[1\] must .*2\^53.*got 1\.5 \(2 keys are invalid\)/,
    ],
    ["delete of what can be no key", (x, h, at) => x.replay_delete(h, 0, at + 904, 1), /^INVALID: keys\[0\] must be .*, got 1\.5$/],
    ["delete from null", (x, h) => x.replay_delete(h, 0, 0, 1), /keys must be 8 bytes/],
    ["use of another handle", (x, h, at) => x.replay_append(h + 1, 0, at, 1, 0, 0), /^CLOSED: handle must .*\(1\), got 2/],
  ])("%s is rejected and changes nothing", (_, call, says) => {
    const runs = Array.from({ length: 6 }, () => step.slice());
    const { columns } = embed.columns(-1);
    const offset = (name: string) => columns.find((column) => column.name === name)?.at as number;
    const [, flag, long, none, more, reward] = runs as [Uint8Array, Uint8Array, Uint8Array, Uint8Array, Uint8Array, Uint8Array];
    const input = new Uint8Array(1024);
    flag[offset("done")] = 2;
    long[offset("task")] = 6;
    none[offset("task") + 4] = 0xff;
    more[offset("task") + 7] = 1;
    new DataView(reward.buffer).setFloat32(offset("reward"), Number.POSITIVE_INFINITY, true);
    runs.forEach((run, i) => {
      input.set(run, 64 * i);
    });
    new DataView(input.buffer).setFloat64(384, -1, true);
    new Float64Array(input.buffer, 896, 3).set([0, 1.5, Number.NaN]);
    input.fill(2, 400, 404);
    input.set(step, 448);
    input.set(flag, 448 + step.length);
    // Some calls pass the address of these bytes, which belong to the first step, as the ends of episodes.
    input.set([9, 2, 2], 16);
    const [at = 0] = embed.give(input);
    const before = state();
    expect(call(embed.x, embed.handle, at)).toBeLessThan(0);
    expect(embed.error).toMatch(says);
    expect(state()).toBe(before);
    expect(embed.u8.slice(at, at + input.length)).toEqual(input);
  });

  test("is rejected after free, and creating a second Replay is rejected before free", () => {
    const { x, handle } = embed;
    expect(() => embed.create(TEXT)).toThrowError(/^OUT_OF_TURN: this instance already has a Replay \(handle 1\)\. Free it first/);
    embed.handle = handle;
    expect(() => embed.load(new Uint8Array(8))).toThrowError(/^OUT_OF_TURN: this instance already has a Replay \(handle 1\)\. Free it first/);
    embed.handle = handle;
    expect(x.replay_free(handle)).toBe(0);
    const calls = [
      () => x.replay_append(handle, 0, 0, 1, 0, 0),
      () => x.replay_end(handle, 0, 0, 1, 0),
      () => x.replay_item(handle, 0, 0, 0, 1, 1),
      () => x.replay_sample(handle, 0, 1, 0),
      () => x.replay_update(handle, 0, 0, 0, 1),
      () => x.replay_delete(handle, 0, 0, 1),
      () => x.replay_free(handle),
    ];
    for (const call of calls) {
      expect(call()).toBeLessThan(0);
      expect(embed.error).toMatch(/^CLOSED: handle .* got 1\. The Replay was freed\. Create a new one/);
    }
    expect(x.replay_columns(handle, -1)).toBe(0);
    expect(x.replay_stats(handle, 0)).toBe(0);
    expect(x.replay_save(handle, 1)).toBe(0);
    embed.create(TEXT);
    expect(embed.handle).toBe(handle + 1);
    expect(x.replay_free(handle)).toBeLessThan(0);
    expect(embed.stats(0)[0]).toBe(0);
  });

  test("is rejected if it reads columns of a view that was not drawn last", () => {
    expect(() => embed.columns(0)).toThrowError(/^OUT_OF_TURN: view must/);
    embed.did(embed.x.replay_sample(embed.handle, 1, 3, 0));
    expect(embed.columns(1).entries).toBe(3);
    expect(() => embed.columns(0)).toThrowError(/OUT_OF_TURN/);
    expect(() => embed.columns(7)).toThrowError(/NOT_FOUND/);
  });

  /** Makes a call. Returns its result, or undefined if the call was rejected. Checks that a rejected call has an error text. */
  function done(host: Embed, name: string, args: readonly number[]): number | undefined {
    const call = (host.x as unknown as { readonly [name: string]: (...args: readonly number[]) => number })[name] as (...args: readonly number[]) => number;
    const result = call(...args);
    if (ADDRESSES.includes(name) ? result !== 0 : result >= 0) return result;
    expect(host.error, `${name}(${args})`).toMatch(/^[A-Z_]+: .{10,}/s);
    return undefined;
  }

  test("with numbers near 2^31, 2^32, 2^53 and 2^64 never traps, and changes nothing if rejected", () => {
    // No number in EDGES wraps to a handle of at least 3.
    while (embed.handle < 3) {
      embed.x.replay_free(embed.handle);
      embed.create(`${TEXT}\nbytes 30000000`);
    }
    const [at = 0] = embed.give(step);
    embed.did(embed.x.replay_append(embed.handle, 0, at, 1, 0, 0));
    const h = embed.handle;
    const calls: { readonly [name: string]: readonly number[] } = {
      replay_append: [h, 0, at, 1, 0, 0],
      replay_end: [h, 0, 0, 3, at],
      replay_item: [h, 0, 0, 0, 1, 1],
      replay_writer: [h, 0],
      replay_discard: [h, 0, 0],
      replay_truncate: [h, 0],
      replay_sample: [h, 0, 2, 0.5],
      replay_get: [h, 1, at, 1],
      replay_set_mixture: [h, 0, at],
      replay_write: [h, 1, 0, at, 1, 2, at],
      replay_columns: [h, -1],
      replay_stats: [h, 0],
      replay_update: [h, 0, at, at, 1],
      replay_delete: [h, 0, at, 1],
      replay_save: [h, 1],
      replay_input: [64],
      replay_free: [h + 1],
    };
    for (const [name, args] of Object.entries(calls)) {
      for (const [i] of args.entries()) {
        for (const number of EDGES) {
          const given = args.map((own, k) => (k === i ? number : own));
          const before = state();
          if (done(embed, name, given) === undefined) expect(state(), `${name}(${given})`).toBe(before);
        }
      }
    }
    // The following calls are made without a Replay.
    const text = new TextEncoder().encode(TEXT);
    const empty = new Embed();
    for (const [name, count] of Object.entries({ replay_create: 2, replay_load: 4 })) {
      for (let i = 0; i < count; i++) {
        for (const number of EDGES) {
          const [from = 0] = empty.give(text);
          const given = [from, text.length, from, text.length].slice(0, count).map((own, k) => (k === i ? number : own));
          const handle = done(empty, name, given);
          if (handle !== undefined) expect(empty.x.replay_free(handle)).toBe(0);
        }
      }
    }
  });

  test("with random numbers never traps", () => {
    const random = new TestRandom(9);
    const { x } = embed;
    const known = [0, 1, 2, 3, 4, -1, 48, 4096, 0x5000];
    const number = () => random.pick([...known, random.pick(EDGES), random.below(2 ** 20), x.replay_input(16)]);
    const handle = () => (random.below(10) === 0 ? number() : embed.handle);
    for (let i = 0; i < scaled(20_000); i++) {
      const calls = [
        () => x.replay_append(handle(), number(), number(), number(), number(), number()),
        () => x.replay_end(handle(), number(), number(), number(), number()),
        () => x.replay_item(handle(), number(), number(), number(), number(), random.pick([1, -1, ...EDGES])),
        () => x.replay_discard(handle(), number(), number()),
        () => (random.below(20) === 0 ? x.replay_truncate(handle(), number()) : 0),
        () => x.replay_sample(handle(), number(), random.pick([1, 7, 0, 2 ** 24, 2 ** 32 - 1]), random.pick([0, 1, ...EDGES])),
        () => x.replay_update(handle(), number(), number(), number(), number()),
        () => x.replay_delete(handle(), number(), number(), number()),
        () => x.replay_set_mixture(handle(), number(), number()),
        () => x.replay_get(handle(), number(), number(), number()),
        () => x.replay_write(handle(), number(), number(), number(), number(), number(), number()),
      ];
      const code = random.pick(calls)();
      if (code < 0) expect(embed.error).toMatch(/^[A-Z_]+: .{10,}/);
      x.replay_columns(handle(), number());
      x.replay_stats(handle(), number());
      x.replay_writer(handle(), number());
      x.replay_save(handle(), number());
    }
    expect(embed.stats(0)).toHaveLength(13);
  });

  test("is rejected if it requests more input than memory allows, and the Replay stays usable", () => {
    expect(embed.x.replay_input(2 ** 32 - 1)).toBe(0);
    expect(embed.error).toMatch(/^OUT_OF_MEMORY: there is no room for 4294967295 bytes of input/);
    const [at = 0] = embed.give(step);
    expect(embed.x.replay_append(embed.handle, 0, at, 1, 0, 0)).toBe(0);
  });
});
