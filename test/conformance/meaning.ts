/** Maps Python's errors to ours by class and op, never by text (POLICY.md). */
import { ReplayError } from "../../src/index.ts";
import type { Op, Result, TableCase } from "./case.ts";

/** The ops of writers. If one of them raised a RuntimeError on a closed writer, the only error that we accept is CLOSED. */
const OF_WRITERS = ["append", "append_sequence", "create_item", "create_item_legacy", "configure", "hold", "numpy", "history_len", "end_episode", "flush"];

/** The ops that a table's signature may reject. */
const TO_TABLES = ["create_item", "create_item_legacy", "insert"];

/** Returns the kind of our error: TypeError, RangeError, or the code of a ReplayError. Any other error is a bug and returns undefined. */
export function kindOf(error: unknown): string | undefined {
  if (error instanceof ReplayError) return error.code;
  return error instanceof TypeError || error instanceof RangeError ? error.name : undefined;
}

/** Returns the acceptable error kinds of op i; i is -1 for the constructors. */
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
      // A restart fails if a table is missing, and an append fails if the data has the wrong form.
      if (op === "checkpoint_restart") return ["NOT_FOUND"];
      if (op === "append" || op === "append_sequence") return ["SPEC_MISMATCH"];
      // If a table has a signature, the form of an item may also be wrong.
      return TO_TABLES.includes(op) && test.tables.some((table) => table.signature !== undefined) ? ["RangeError", "SPEC_MISMATCH"] : ["RangeError"];
    case "InvalidArgumentError":
      return ["INVALID_DATA"];
    case "DeadlineExceededError":
      return ["TIMEOUT"];
    case "RuntimeError":
      if (closed && OF_WRITERS.includes(op)) return ["CLOSED"];
      // The RangeError is for an item whose length exceeds the number of steps.
      return ["EMPTY", "TOO_FEW", "NOT_FOUND", "RangeError"];
    default:
      return ["RangeError", "NOT_FOUND", "INVALID_DATA"];
  }
}
