/** What a case asks for that is not there, read from its tables and ops alone. */
import { isObject, type Op, type TableCase } from "./case.ts";
import { appendSpec, branchOf, leafPaths, ourSpec } from "./step-spec.ts";

/** A family that has no runner: ReverbReplayBuffer reads what an observer wrote, and waits for both. Its runner goes beside buffer-cases.ts. */
export const REVERB_BUFFER = "TF-Agents' ReverbReplayBuffer, over a table that an observer fills";

/** Why a case cannot run yet, or undefined. */
export function missingIn(test: TableCase): string | undefined {
  const names = test.tables.map((table) => table.name);
  if (new Set(names).size < names.length) return "cannot be asked: two tables of one name (tables are the keys of an object)";
  if (test.tables.some((table) => table.signature !== undefined)) return "not built yet: a table's signature";
  for (const op of test.ops) {
    const missing = missingOp(op);
    if (missing !== undefined) return `not built yet: ${missing}`;
  }
  if (fieldsVary(test)) return "not built yet: steps that leave fields out";
  if (new Set(test.ops.filter(([kind]) => kind === "end_episode").map(clears)).size > 1)
    return "not built yet: a writer of which some episodes clear the history and some do not";
  return undefined;
}

function missingOp(op: Op): string | undefined {
  const [kind, args] = op;
  switch (kind) {
    case "configure":
      return "configure, a keep of its own for one column";
    case "numpy":
      return "numpy, reading a writer's history before it is an item";
    case "append_sequence":
      return "append_sequence of the legacy writer";
    case "append":
      return args.partial === true ? "append with partial, a step made by several appends" : undefined;
    case "insert":
      return isObject(args.priorities) && Object.keys(args.priorities).length === 0 ? "Client.insert, which refuses an insert into no table" : undefined;
    case "legacy_writer": {
      const other = Object.keys((args.args as object | undefined) ?? {}).filter((name) => name !== "max_sequence_length");
      return other.length === 0 ? undefined : `${other.join(", ")} of the legacy writer, which is about chunks`;
    }
    case "flush":
      return isObject(args.args) && Number(args.args.block_until_num_items ?? 0) > 0 ? "flush with block_until_num_items" : undefined;
    case "create_item":
    case "hold":
      return missingSlice(args.trajectory);
    default:
      return undefined;
  }
}

/** Items are runs of steps, each column an ascending part of one. */
function missingSlice(how: unknown): string | undefined {
  if (isObject(how))
    return Object.values(how)
      .map(missingSlice)
      .find((missing) => missing !== undefined);
  if (!Array.isArray(how)) return undefined;
  const index = how.at(-1);
  if (isObject(index)) return "an item of steps in any order (a list of indices)";
  return Array.isArray(index) && index[2] < 0 ? "an item of steps in reverse order" : undefined;
}

/** Whether appends of one kind give different fields: theirs hold None where one was left out. */
function fieldsVary(test: TableCase): boolean {
  const fields = new Map<string, string>();
  return test.ops.some((op) => {
    if (op[0] !== "append") return false;
    const branch = branchOf(op);
    const these = leafPaths(ourSpec(appendSpec(test, op)), branch).join();
    const known = fields.get(branch) ?? these;
    fields.set(branch, known);
    return known !== these;
  });
}

function clears([, { args }]: Op): boolean {
  return !(isObject(args) && args.clear_buffers === false);
}
