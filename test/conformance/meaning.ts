/** Which of our errors stands for one of Python's: by its class and by the op at which it came, never by its text (POLICY.md). */
import { ReplayError } from "../../src/index.ts";
import type { Op, Result, TableCase } from "./case.ts";

/** The op by which a refused op must be judged. */
const OF_WRITERS = ["append", "append_sequence", "create_item", "create_item_legacy", "configure", "hold", "numpy", "history_len", "end_episode", "flush"];

/** The ops that a table's signature may refuse. */
const TO_TABLES = ["create_item", "create_item_legacy", "insert"];

/** What an error of ours is: TypeError, RangeError, or the code of a ReplayError; undefined for any other, which is a mistake of somebody's. */
export function kindOf(error: unknown): string | undefined {
  if (error instanceof ReplayError) return error.code;
  return error instanceof TypeError || error instanceof RangeError ? error.name : undefined;
}

/** The kinds that would do for an error at op i; i is -1 for the constructors. */
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
      // Of a restart it is the tables that do not fit, of an append the data's form.
      if (op === "checkpoint_restart") return ["NOT_FOUND"];
      if (op === "append" || op === "append_sequence") return ["SPEC_MISMATCH"];
      // Of an item it may be its form as well, where a table asks for one.
      return TO_TABLES.includes(op) && test.tables.some((table) => table.signature !== undefined) ? ["RangeError", "SPEC_MISMATCH"] : ["RangeError"];
    case "InvalidArgumentError":
      return ["INVALID_DATA"];
    case "DeadlineExceededError":
      return ["TIMEOUT"];
    case "RuntimeError":
      if (closed && OF_WRITERS.includes(op)) return ["CLOSED"];
      // Fewer steps at hand than an item asks is a wrong length.
      return ["EMPTY", "TOO_FEW", "NOT_FOUND", "RangeError"];
    default:
      return ["RangeError", "NOT_FOUND", "INVALID_DATA"];
  }
}
