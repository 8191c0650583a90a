/**
 * Makes public calls with one hostile value in their arguments. Each call must succeed, or throw an error of the library or of the caller. A rejected call must
 * change nothing.
 */
import { expect } from "vitest";
import { ReplayError } from "../../src/index.ts";
import { changeLater, spoiled, Thrown } from "./hostile.ts";
import type { TestRandom } from "./random.ts";
import { expectOurs } from "./refused.ts";

/** The valid arguments, and the call. */
type Call<W> = readonly [args: (world: W) => readonly unknown[], call: (world: W, args: readonly never[]) => unknown];

export interface Attacked<W> {
  readonly calls: { readonly [name: string]: Call<W> };
  /** Valid calls, some of which are made in between and in getters. */
  readonly good: { readonly [name: string]: (world: W) => unknown };
  /** All state that outlives a call. */
  readonly bytes: (world: W) => Uint8Array | Promise<Uint8Array>;
  /** Returns the names of broken invariants, or an empty list. */
  readonly broken: (world: W) => readonly string[];
}

/** The time limit of a call in milliseconds. No call waits for events that may never happen. */
const HANGS_MS = 5000;

/** Checks that a caller can understand an error. */
function understood(error: unknown): void {
  if (error instanceof Thrown) return;
  expect(error).not.toBeInstanceOf(WebAssembly.RuntimeError);
  expect(error instanceof ReplayError || error instanceof TypeError || error instanceof RangeError, String(error)).toBe(true);
  expectOurs(error);
}

async function inTime(given: unknown): Promise<unknown> {
  if (!(given instanceof Promise)) return given;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error("the call hangs")), HANGS_MS);
  });
  return Promise.race([given, late]).finally(() => clearTimeout(timer));
}

/** Makes `count` calls, each with a hostile value somewhere. @param where for messages */
export async function attack<W>(random: TestRandom, world: W, { calls, good, bytes, broken }: Attacked<W>, count: number, where: string): Promise<void> {
  let inner = 0;
  /** Makes a call from a getter. It must be rejected, or complete before the outer call continues. */
  const again = (): void => {
    try {
      random.pick(Object.values(good))(world);
      inner++;
    } catch (error) {
      understood(error);
    }
  };
  for (let i = 0; i < count; i++) {
    for (let k = random.below(3); k > 0; k--) again();
    const name = random.pick(Object.keys(calls));
    const [argsOf, call] = calls[name] as Call<W>;
    const given = argsOf(world);
    // Calls without arguments cannot get a hostile value.
    const args =
      given.length === 0 ? given : random.below(8) === 0 ? given.slice(0, random.below(given.length + 1)) : (spoiled(random, given, again) as readonly never[]);
    const before = await bytes(world);
    inner = 0;
    try {
      await inTime(call(world, args as readonly never[]));
      const now = await bytes(world);
      inner = 0;
      changeLater(args);
      if (inner === 0) expect(Buffer.from(await bytes(world)).equals(now), "what was given is still looked at").toBe(true);
    } catch (error) {
      try {
        understood(error);
        if (inner === 0) expect(Buffer.from(await bytes(world)).equals(before), "a refused call changed something").toBe(true);
      } catch (failure) {
        throw new Error(`${name}, call ${i} of ${where}: ${(failure as Error).message}\n${(error as Error)?.stack}`, { cause: error });
      }
    }
    expect(broken(world), `${name}, call ${i} of ${where}`).toEqual([]);
  }
}
