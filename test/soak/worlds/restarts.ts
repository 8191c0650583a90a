/** Restarts a Replay from snapshots and from a directory in memory. */

import { type MemoryDirectory, memory } from "../../../src/files/memory.ts";
import { Replay, type Spec } from "../../../src/index.ts";
import type { TestRandom } from "../../support/random.ts";
import { same } from "./draws.ts";
import type { Plan } from "./plan.ts";
import type { AnyReplay } from "./writers.ts";

export type OpenWriters = "keep" | "close";

export class Restarts {
  readonly #plan: Plan;
  /** The directory, or undefined for a Replay that exists only in memory. */
  #dir: MemoryDirectory | undefined;

  constructor(plan: Plan) {
    this.#plan = plan;
    this.#dir = plan.isKept ? memory() : undefined;
  }

  /** Returns the Replay at the start of the world. */
  async begin(): Promise<AnyReplay> {
    const { spec, tables, seed, spareBytes } = this.#plan;
    const limits = tables.map(({ name, sampler, remover, maxSize, maxPending, maxTimesSampled, maxSteps, limiter }) => {
      const some = { ...(maxTimesSampled > 0 && { maxTimesSampled }), ...(Number.isFinite(maxSteps) && { maxSteps }) };
      return [name, { sampler, remover, maxSize, maxPending, rateLimiter: limiter, ...some }] as const;
    });
    const options = { spec: spec as Spec, tables: Object.fromEntries(limits), seed, logger: null, transition: { observation: "id", action: "id" } };
    if (this.#dir !== undefined) return (await Replay.open({ ...options, ...KEPT, dir: this.#dir })) as AnyReplay;
    const maxBytes = spareBytes === undefined ? {} : { maxBytes: Replay.plan(options).bytes + spareBytes };
    return new Replay({ ...options, ...maxBytes }) as AnyReplay;
  }

  /** Returns the Replay from its directory, after closing or a crash, or from a snapshot. The old Replay is closed. */
  async again(replay: AnyReplay, writers: OpenWriters, random: TestRandom): Promise<AnyReplay> {
    if (this.#dir === undefined || random.below(3) === 0) {
      // Draws need memory that may not be available.
      const restored = sameSnapshot(replay, { writers }, this.#plan.spareBytes === undefined && writers === "keep");
      replay.dispose();
      this.#dir = undefined;
      return restored;
    }
    await replay.flush();
    if (random.below(2) === 0) this.#dir = this.#dir.crash();
    replay.dispose();
    return (await Replay.open({ ...KEPT, dir: this.#dir, writers })) as AnyReplay;
  }
}

const KEPT = { durability: "manual", segmentBytes: 4096, logger: null } as const;

/**
 * Returns a Replay restored from a snapshot of another one. Both have identical snapshots.
 * @param last whether the original is no longer used, so that draws of both are compared
 */
export function sameSnapshot(replay: AnyReplay, options: { readonly writers: OpenWriters }, last: boolean): AnyReplay {
  const bytes = bytesOf(replay);
  const kept = restoredOf(bytes, { writers: "keep" });
  same("the snapshot of what a snapshot gave", bytesOf(kept).equals(bytes), true);
  if (last) {
    const copy = restoredOf(bytes, { writers: "keep" });
    for (const name of Object.keys(replay.tables)) same(`draws from ${name} after a snapshot`, drawnFrom(copy, name), drawnFrom(replay, name));
    copy.dispose();
  }
  if (options.writers === "keep") return kept;
  kept.dispose();
  return restoredOf(bytes, options);
}

function bytesOf(replay: AnyReplay): Buffer {
  return Buffer.concat([...replay.snapshot()]);
}

function restoredOf(bytes: Uint8Array, options: { readonly writers: OpenWriters }): AnyReplay {
  try {
    // Making a snapshot takes additional memory, but its content must still fit when it is restored.
    return Replay.restore(bytes, { ...options, logger: null }) as AnyReplay;
  } catch (error) {
    throw new Error(`what a snapshot gave cannot be restored: ${(error as Error).message}`);
  }
}

function drawnFrom(replay: AnyReplay, name: string): string {
  try {
    return JSON.stringify(replay.table(name).sample(5).detached());
  } catch (error) {
    return String((error as { code?: string }).code);
  }
}
