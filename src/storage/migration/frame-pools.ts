/** Maps pools of shared frames, which a migration keeps unchanged: leaves of the new spec refer to the same frames. */
import { ReplayError } from "../../base/error.ts";
import type { FramePool, Layout, PlacedLeaf } from "../../schema/layout.ts";
import type { LeafNames } from "./leaf-names.ts";

/** The number of bytes of each pool's entry in a POOLS section. */
const POOL_BYTES = 8;

export class FramePools {
  /** The new id of each old pool, in the order of sections: entries, then frames, then steps. */
  readonly #ids: readonly (number | undefined)[];
  readonly #newCount: number;
  /** The old leaf of each new shared leaf. */
  readonly leaves: ReadonlyMap<PlacedLeaf, PlacedLeaf>;

  /**
   * @throws ReplayError UNSUPPORTED if a leaf of the new spec is shared in only one of the two specs, or has another form, other packing, or other leaves that
   * share its frames in the old spec
   */
  constructor(before: Layout, after: Layout, names: LeafNames) {
    const leaves = new Map<PlacedLeaf, PlacedLeaf>();
    const olds = new Map<FramePool, FramePool>();
    for (const leaf of after.leaves) {
      const old = before.leaves.find(({ path }) => names.path(path) === leaf.path);
      if (leaf.leaf.shared === undefined) {
        if (old?.leaf.shared !== undefined)
          throw refusal(`${leaf.path} must be ${kindOf(old)} like ${old.path} in the saved spec, because its frames cannot be copied to an unshared leaf`);
        continue;
      }
      if (old === undefined || !isSameLeaf(old, leaf))
        throw refusal(`spec has ${leaf.path}, which is ${kindOf(leaf)}. A migration cannot add or change such a leaf`);
      const [pool, oldPool] = [poolOf(after, leaf), poolOf(before, old)];
      const known = olds.get(pool);
      const isTaken = [...olds].some(([other, taken]) => other !== pool && taken === oldPool);
      if ((known !== undefined && known !== oldPool) || isTaken || JSON.stringify(pool.packed) !== JSON.stringify(oldPool.packed))
        throw refusal(`${leaf.path} must share its frames with the same leaves as before, with the same packing`);
      olds.set(pool, oldPool);
      leaves.set(leaf, old);
    }
    this.leaves = leaves;
    const newIds = idsOf(after);
    const newOf = new Map([...olds].map(([pool, old]) => [old, pool]));
    this.#ids = idsOf(before).map((place) => {
      if (place === undefined) return newIds.length - 1;
      const pool = newOf.get(place.pool);
      return pool === undefined ? undefined : newIds.findIndex((one) => one?.pool === pool && one.isEntries === place.isEntries);
    });
    this.#newCount = newIds.length;
  }

  /** The id of the pool of steps in the old sections. */
  get steps(): number {
    return this.#ids.length - 1;
  }

  /** Returns the new id of a pool; undefined if no leaf uses the pool any more. @param id the id of the pool in the old sections */
  newId(id: number): number | undefined {
    return this.#ids[id];
  }

  isPool(id: number): boolean {
    return id < this.#ids.length;
  }

  /** Returns POOLS in the new order; undefined if the payload is inconsistent. */
  numbers(payload: Uint8Array): Uint8Array | undefined {
    if (payload.length !== POOL_BYTES * this.#ids.length) return undefined;
    const changed = new Uint8Array(POOL_BYTES * this.#newCount);
    for (const [old, id] of this.#ids.entries()) if (id !== undefined) changed.set(payload.subarray(POOL_BYTES * old, POOL_BYTES * (old + 1)), POOL_BYTES * id);
    return changed;
  }
}

/** Returns the pools in the order of sections; undefined denotes the pool of steps. */
function idsOf({ pools }: Layout): readonly ({ readonly pool: FramePool; readonly isEntries: boolean } | undefined)[] {
  const entries = pools.filter(({ packed }) => packed !== undefined).map((pool) => ({ pool, isEntries: true }));
  return [...entries, ...pools.map((pool) => ({ pool, isEntries: false })), undefined];
}

function poolOf({ pools }: Layout, { leaf }: PlacedLeaf): FramePool {
  return pools.find(({ name }) => name === leaf.shared) as FramePool;
}

function isSameLeaf(a: PlacedLeaf, b: PlacedLeaf): boolean {
  const form = ({ leaf: { dtype, stack, shared }, shape, frameBytes }: PlacedLeaf) => JSON.stringify([dtype, stack, shape, frameBytes, shared !== undefined]);
  return form(a) === form(b);
}

function kindOf({ leaf }: PlacedLeaf): string {
  return leaf.packed === undefined ? "shared" : "packed";
}

function refusal(what: string): ReplayError {
  return new ReplayError("UNSUPPORTED", `${what}. Keep the leaf as it was, omit it, or move the episodes to a new directory with openReplay and pushEpisodes`);
}
