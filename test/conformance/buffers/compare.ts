/** Compares the result of a replay buffer with the expected one. */
import { TFUniformReplayBuffer } from "../../../src/tf-agents/index.ts";
import { isObject, type Op, type Result } from "../case.ts";
import { type Answer, valueDifference } from "../compare.ts";
import { kindOf } from "../meaning.ts";
import { possible, unstacked } from "./possible.ts";
import type { BufferWorld } from "./world.ts";

/** The tolerance of a count on a fixed seed, in standard deviations. */
const SIGMA = 5;

/** Returns our error kinds that match a recorded error (POLICY.md). */
function accepted([op]: Op, { type, kind }: Result): readonly string[] {
  if (typeof kind === "string") return [kind];
  const adds = op === "add_batch" || op === "add_sequence" || op === "extend_episodes";
  switch (type) {
    case "TypeError":
      return ["TypeError"];
    case "NotImplementedError":
      return ["UNSUPPORTED"];
    case "InvalidArgumentError":
      return adds ? ["SPEC_MISMATCH", "INVALID_DATA"] : op === "get_episode" ? ["STALE_KEY", "NOT_FOUND"] : ["EMPTY", "TOO_FEW"];
    default:
      // An invalid argument. If the op adds values, their form is invalid.
      return adds ? ["SPEC_MISMATCH", "RangeError"] : ["RangeError", "UNSUPPORTED"];
  }
}

export function constructorDifference(expected: unknown, error: unknown): string | undefined {
  const kind = kindOf(error);
  if (!isObject(expected)) return `${error}`;
  const fits = expected.type === "TypeError" ? kind === "TypeError" : kind === "RangeError";
  return fits ? undefined : `expected ${String(expected.type)}, got ${String(error)}`;
}

export function bufferDifference(world: BufferWorld, op: Op, expected: Result, answer: Answer): string | undefined {
  const [kind] = op;
  const { error } = expected;
  if (isObject(error) && expected.elements === undefined) {
    if (!("error" in answer))
      return error.type === "NotImplementedError" ? undefined : `expected ${accepted(op, error).join(" or ")}, got ${JSON.stringify(answer.result)}`;
    return errorDifference(op, error, answer.error);
  }
  if ("error" in answer) return `expected ${JSON.stringify(expected)}, got ${String(answer.error)}`;
  const { result } = answer;
  if (kind === "dataset") return datasetDifference(world, op, expected, result);
  if (kind === "get_next_tally" || kind === "dataset_tally") return tallyDifference(expected, result);
  if (kind === "get_next") return nextDifference(op, expected, result);
  return valueDifference("", expected, result);
}

function errorDifference(op: Op, expected: Result, error: unknown): string | undefined {
  const kinds = accepted(op, expected);
  return kinds.includes(kindOf(error) ?? "") ? undefined : `expected ${kinds.join(" or ")}, got ${String(error)}`;
}

/** Compares a full pass exactly. For random elements, checks that the recorded ones and ours are possible. */
function datasetDifference(world: BufferWorld, op: Op, expected: Result, { elements, ends, error }: Result): string | undefined {
  const { on, args } = op[1];
  if (isObject(expected.error)) {
    const before = valueDifference(".elements", expected.elements, elements);
    return (
      before ??
      (error === undefined
        ? `expected ${accepted(op, expected.error).join(" or ")} after ${(elements as []).length} elements`
        : errorDifference(op, expected.error, error))
    );
  }
  if (error !== undefined) return `broke off after ${(elements as []).length} elements: ${String(error)}`;
  const uniform = world.buffer(on) instanceof TFUniformReplayBuffer;
  const options = (isObject(args) ? args : {}) as { single_deterministic_pass?: boolean; num_steps?: number; sample_batch_size?: number };
  if (options.single_deterministic_pass)
    return valueDifference(
      "",
      { elements: expected.elements, ends: expected.ends },
      { elements: uniform ? elements : (elements as [unknown][]).map(([data]) => data), ends },
    );
  const { num_steps: n, sample_batch_size: k } = options;
  const doubled = "sequence_preprocess_fn" in options;
  const all = possible(world.buffer(on), n ?? undefined).map(({ data, ids, probability }) => ({ data: doubled ? twice(data) : data, ids, probability }));
  if ((elements as []).length !== (expected.elements as []).length)
    return `expected ${(expected.elements as []).length} elements, got ${(elements as []).length}`;
  const isPair = (element: unknown): element is [unknown, unknown] => Array.isArray(element) && element.length === 2 && (uniform || isObject(element[0]));
  for (const [whose, list] of [["expected", expected.elements] as const, ["got", elements] as const]) {
    for (const element of list as unknown[]) {
      const [data, info] = isPair(element) ? element : [element, undefined];
      const ids = isObject(info) ? info.ids : undefined;
      const probabilities = isObject(info) ? info.probabilities : undefined;
      const rows = k === undefined || k === null ? [data] : unstacked(data);
      if (rows.length !== (k ?? 1)) return `${whose} a batch of ${rows.length}`;
      for (const [i, row] of rows.entries()) {
        const part = (value: unknown) => (k === undefined || k === null ? value : (value as unknown[])[i]);
        const fits = all.some(
          (one) =>
            valueDifference("", one.data, row) === undefined &&
            (ids === undefined || valueDifference("", one.ids, part(ids)) === undefined) &&
            (probabilities === undefined || valueDifference("", one.probability, part(probabilities)) === undefined),
        );
        if (!fits) return `${whose} ${JSON.stringify(row)}, ids ${JSON.stringify(part(ids ?? []))}, which is not possible`;
      }
    }
  }
  return undefined;
}

function twice(value: unknown): unknown {
  if (typeof value === "number") return 2 * value;
  if (Array.isArray(value)) return value.map(twice);
  return Object.fromEntries(Object.entries(value as object).map(([key, part]) => [key, key === "begin" || key === "end" ? part : twice(part)]));
}

/** Checks that the outcomes are equal, that our reported probabilities follow the rules, and that the counts are likely. */
function tallyDifference(expected: Result, got: Result): string | undefined {
  const counts = got.counts as ReadonlyMap<string, { count: number; probability: number }>;
  const all = got.possible as readonly { value: string; probability: number }[];
  const outcomes = (expected.outcomes as unknown[]).map((outcome) => JSON.stringify(outcome)).sort();
  const found = valueDifference(
    ".outcomes",
    outcomes.map((one) => JSON.parse(one)),
    [...counts.keys()].sort().map((one) => JSON.parse(one)),
  );
  if (found !== undefined) return found;
  const draws = got.draws as number;
  if (expected.draws !== draws) return `expected ${expected.draws} draws, got ${draws}`;
  for (const [value, { count, probability }] of counts) {
    // The same steps may occur more than once.
    const true_ = all.filter((one) => one.value === value).reduce((sum, one) => sum + one.probability, 0);
    const reported = valueDifference(`.probability of ${value}`, all.find((one) => one.value === value)?.probability, probability);
    if (reported !== undefined) return reported;
    if (Math.abs(count - draws * true_) > 1 + SIGMA * Math.sqrt(draws * true_ * (1 - true_)))
      return `${value}: expected about ${draws * true_} of ${draws}, got ${count}`;
    if (typeof expected.probability === "number") {
      const recorded = valueDifference(".probability", expected.probability, probability);
      if (recorded !== undefined) return recorded;
    }
  }
  return undefined;
}

/** Compares the known dimensions of the recorded shapes. For whole episodes, the number of steps must be possible. */
function nextDifference([, { args }]: Op, expected: Result, { shapes, info_shapes, probabilities, whole }: Result): string | undefined {
  const lengths = (whole as unknown[] | undefined)?.map((data) => unstacked(data).length);
  const any = (value: unknown): unknown => {
    if (lengths === undefined || (isObject(args) && args.num_steps != null)) return value;
    if (Array.isArray(value)) return lengths.includes(value[0]) ? ["T", ...value.slice(1)] : value;
    return Object.fromEntries(Object.entries(value as object).map(([key, part]) => [key, any(part)]));
  };
  const info = Object.fromEntries(Object.keys(expected.info_shapes as object).map((key) => [key, (info_shapes as Result)[key]]));
  return (
    valueDifference(".shapes", any(expected.shapes), any(shapes)) ??
    valueDifference(".info_shapes", expected.info_shapes, info) ??
    (expected.probabilities === undefined ? undefined : valueDifference(".probabilities", expected.probabilities, probabilities))
  );
}
