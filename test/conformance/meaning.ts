/** Maps Python's errors to ours by class and op, never by text (POLICY.md). */
import { ReplayError } from "../../src/index.ts";
import type { Op, Result, TableCase } from "./case.ts";

/** The ops that determine how an error is judged. */
const OF_WRITERS = ["append", "append_sequence", "create_item", "create_item_legacy", "configure", "hold", "numpy", "history_len", "end_episode", "flush"];

/** The ops that a table's signature may reject. */
const TO_TABLES = ["create_item", "create_item_legacy", "insert"];

/** Returns the kind of our error: TypeError, RangeError, or the code of a ReplayError; undefined for any other, which is a bug. */
export function kindOf(error: unknown): string | undefined {
  if (error instanceof ReplayError) return error.code;
  return error instanceof TypeError || error instanceof RangeError ? error.name : undefined;
}

/** Returns the acceptable kinds of an error at op i; i is -1 for the constructors. */
export function accepted(test: TableCase, i: number, { type, kind }: Result): readonly string[] {
  if (typeof kind === "string") return [kind];
  const [op, args] = test.ops[i] ?? (["", {}] as Op);
  if (typeof args.table === "string" && !test.tables.some((table) => table.name === args.table)) return ["NOT_FOUND"];
  const closed = test.ops.slice(0, Math.max(i, 0)).some(([earlier, { writer }]) => earlier === "close" && writer === args.writer);
  switch (type) {
    case "TypeError":
      return ["TypeError"];
    case "ValueError":
    case "AssertionError":
    case "IndexError":
    case "ZeroDivisionError":
      // For a restart, the tables do not fit; for an append, the form of the data is wrong.
      if (op === "checkpoint_restart") return ["NOT_FOUND"];
      if (op === "append" || op === "append_sequence") return ["SPEC_MISMATCH"];
      // For an item, its form may also be wrong, if a table has a signature.
      return TO_TABLES.includes(op) && test.tables.some((table) => table.signature !== undefined) ? ["RangeError", "SPEC_MISMATCH"] : ["RangeError"];
    case "InvalidArgumentError":
      return ["INVALID_DATA"];
    case "DeadlineExceededError":
      return ["TIMEOUT"];
    case "RuntimeError":
      if (closed && OF_WRITERS.includes(op)) return ["CLOSED"];
      // Fewer steps than an item needs is a wrong length.
      return ["EMPTY", "TOO_FEW", "NOT_FOUND", "RangeError"];
    default:
      return ["RangeError", "NOT_FOUND", "INVALID_DATA"];
  }
}
