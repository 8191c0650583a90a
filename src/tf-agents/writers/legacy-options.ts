/** What the older writers ask of their options and steps, wherever their items go. */
import { flag, integer, mustBe, onlyKeys, ReplayError } from "../../base/error.ts";
import { MAX_ITEMS, MAX_LENGTH } from "../../base/limits.ts";
import type { PlacedLeaf } from "../../schema/layout.ts";
import type { Values } from "./fields.ts";

export interface LegacyWriterOptions {
  /** Steps that the longest item has. */
  readonly maxSequenceLength: number;
  /** Steps of a chunk on a server, at most maxSequenceLength, which is the default. In this process checked, and without effect. */
  readonly chunkLength?: number | null;
  /** Whether integers go to a server as differences of consecutive steps, which compress better. In this process checked, and without effect. */
  readonly deltaEncoded?: boolean;
  /** Items that may be on their way to a server. In this process checked, and without effect: how many may wait is the table's `maxPending`. */
  readonly maxInFlightItems?: number | null;
}

const OPTIONS = "maxSequenceLength, chunkLength, deltaEncoded, maxInFlightItems";

/** The options with their defaults; of `maxInFlightItems` undefined: as many as the client says. @throws TypeError, RangeError */
export function checkLegacy(options: LegacyWriterOptions) {
  const { maxSequenceLength, chunkLength, deltaEncoded, maxInFlightItems } = onlyKeys("options", options, OPTIONS);
  const most = integer("maxSequenceLength", maxSequenceLength, 1, MAX_LENGTH);
  return {
    maxSequenceLength: most,
    chunkLength: integer("chunkLength", chunkLength ?? most, 1, most),
    deltaEncoded: flag("deltaEncoded", deltaEncoded ?? false) === 1,
    maxInFlightItems: maxInFlightItems == null ? undefined : integer("maxInFlightItems", maxInFlightItems, 1, MAX_ITEMS),
  };
}

/** Which fields there are: those of the steps before. @throws ReplayError SPEC_MISMATCH for others, and for none */
export function alike({ leaves }: { readonly leaves: readonly PlacedLeaf[] }, values: Values, before: readonly boolean[] | undefined): readonly boolean[] {
  const given = values.map((value) => value !== undefined);
  const wrong = leaves.find((_, i) => given[i] !== (before ?? given)[i]);
  if (wrong !== undefined) throw mustBe("SPEC_MISMATCH", wrong.path || "step", "given in every step or in none", values[wrong.index]);
  if (!given.includes(true)) throw new ReplayError("SPEC_MISMATCH", "step has no fields: give at least one");
  return given;
}
