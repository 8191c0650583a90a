/** Defines the differences between our answers and the recorded ones in cases of clients and datasets (POLICY.md), as rules, which also apply to new cases. */
import { isObject, type Op, type Result } from "../case.ts";
import { DEFAULT_WRITER } from "../world.ts";
import { CLIENT_OPS, kept } from "./ops.ts";
import type { ClientWorld } from "./world.ts";

export interface Rule {
  readonly rule: string;
  /** Our own answer. */
  readonly expected: Result;
  /** Applies the effect of a recorded call that we reject, so that later ops can still be compared. */
  readonly after?: () => unknown;
}

/** Returns the rule that applies to an op, if any. Called before the op runs. */
export function ruleFor(world: ClientWorld, [kind, args]: Op, recorded: Result): Rule | undefined {
  const failed = isObject(recorded.error);
  if (kind === "insert_data" && isObject(args.priorities)) {
    const names = Object.keys(args.priorities);
    const known = names.filter((name) => world.client.knows(name));
    if (known.length === names.length || known.length === 0) return undefined;
    const { priorities } = args as { readonly priorities: { readonly [name: string]: number } };
    const rest = Object.fromEntries(known.map((name) => [name, priorities[name] as number]));
    return {
      rule: "insert with an unknown table inserts nothing",
      expected: { error: { kind: "NOT_FOUND" } },
      after: () => answer(world, kind, { ...args, priorities: rest }),
    };
  }
  if (kind === "column" && !failed) {
    const { length } = answer(world, "history", args) as { readonly length: number };
    const beyond = [args.at].flat().some((at) => typeof at === "number" && at >= length);
    return beyond ? { rule: "a history index past the end is a RangeError", expected: { error: { kind: "RangeError" } } } : undefined;
  }
  if (kind === "of_column" && failed && Number.isInteger(args.at)) {
    // 1.0 is written as 1.
    const { length } = kept(world, args.column ?? "x").column;
    const at = args.at as number;
    if ((recorded.error as Result).type !== "TypeError" || at < -length || at >= length) return undefined;
    return { rule: "a number without a fraction is an index", expected: answer(world, kind, args) as Result };
  }
  if (kind === "create_item_of" && !failed) {
    const { writer = DEFAULT_WRITER } = args as { readonly writer?: string };
    const names = Object.values(args.trajectory as object).filter((name) => typeof name === "string");
    const owners = [...new Set(names.map((name) => kept(world, name).writer))];
    if (owners.every((owner) => owner === writer)) return undefined;
    return {
      rule: "a column of another writer is refused",
      expected: { error: { kind: "RangeError" } },
      after: () => (owners.length === 1 ? answer(world, kind, { ...args, writer: owners[0] }) : undefined),
    };
  }
  return undefined;
}

function answer(world: ClientWorld, kind: string, args: Op[1]): unknown {
  return (CLIENT_OPS[kind] as (typeof CLIENT_OPS)[string])(world, args, [kind, args]);
}

/** The dtypes of infos in this process, by the dtypes of recorded elements, which come from a protocol. */
const INFO_DTYPES: { readonly [dtype: string]: string } = { uint64: "float64", int64: "uint32", int32: "uint32" };

/** @param info the recorded spec of an element's info */
export function infoSpec(info: Result): Result {
  return Object.fromEntries(
    Object.entries(info as { readonly [name: string]: Result }).map(([name, leaf]) => [
      name,
      { ...leaf, dtype: INFO_DTYPES[String(leaf.dtype)] ?? leaf.dtype },
    ]),
  );
}
