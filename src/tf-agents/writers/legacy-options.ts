/** Checks the options of legacy writers, in this process and to a server. */
import { flag, integer, onlyKeys } from "../../base/error.ts";
import { MAX_ITEMS, MAX_LENGTH } from "../../base/limits.ts";

export interface LegacyWriterOptions {
  /** The number of steps in the longest item. */
  readonly maxSequenceLength: number;
  /**
   * The number of steps per chunk on a server, at most maxSequenceLength. In this process, the value is checked but has no effect. Default: maxSequenceLength.
   */
  readonly chunkLength?: number | null;
  /**
   * Whether integers are sent to a server as differences between consecutive steps, which compress better. In this process, the value is checked but has no
   * effect. Default: false.
   */
  readonly deltaEncoded?: boolean;
  /**
   * The maximum number of items in flight to a server. In this process, the value is checked but has no effect, because `maxPending` of the table limits the
   * number of waiting items. Default: the client's own limit.
   */
  readonly maxInFlightItems?: number | null;
}

/** The options with their defaults. */
export interface ResolvedLegacyOptions {
  readonly maxSequenceLength: number;
  readonly chunkLength: number;
  readonly deltaEncoded: boolean;
  /** The maximum number of items in flight. Undefined means the client's own limit. */
  readonly maxInFlightItems: number | undefined;
}

const OPTIONS = "maxSequenceLength, chunkLength, deltaEncoded, maxInFlightItems";

/** Returns the checked options of a legacy writer, with their defaults. @throws TypeError, RangeError if an option is invalid */
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
