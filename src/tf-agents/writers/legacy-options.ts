/** Options of the older writers, wherever their items go. */
import { flag, integer, onlyKeys } from "../../base/error.ts";
import { MAX_ITEMS, MAX_LENGTH } from "../../base/limits.ts";

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

/** The options with their defaults. */
export interface ResolvedLegacyOptions {
  readonly maxSequenceLength: number;
  readonly chunkLength: number;
  readonly deltaEncoded: boolean;
  /** Undefined: as many as the client says. */
  readonly maxInFlightItems: number | undefined;
}

const OPTIONS = "maxSequenceLength, chunkLength, deltaEncoded, maxInFlightItems";

/** @throws TypeError, RangeError */
export function checkLegacy(options: LegacyWriterOptions): ResolvedLegacyOptions {
  const { maxSequenceLength, chunkLength, deltaEncoded, maxInFlightItems } = onlyKeys("options", options, OPTIONS);
  const maxLength = integer("maxSequenceLength", maxSequenceLength, 1, MAX_LENGTH);
  return {
    maxSequenceLength: maxLength,
    chunkLength: integer("chunkLength", chunkLength ?? maxLength, 1, maxLength),
    deltaEncoded: flag("deltaEncoded", deltaEncoded ?? false) === 1,
    maxInFlightItems: maxInFlightItems == null ? undefined : integer("maxInFlightItems", maxInFlightItems, 1, MAX_ITEMS),
  };
}
