/** Compares an answer with the expected one. The exported functions return undefined if both agree, or else a description of the first difference. */
import { numberOf, type Op, type Result, type TableCase } from "./case.ts";
import { accepted, kindOf } from "./meaning.ts";

/** The relative tolerance of a comparison of numbers, because a number may have been rounded to float32 on its way. */
const TOLERANCE = 1e-6;
/** The tolerance of a count with a fixed seed, in standard deviations. A correct count exceeds it about once in two million counts. */
const SIGMA = 5;

export type Answer = { readonly result: Result } | { readonly error: unknown };

export function difference(test: TableCase, i: number, expected: Result, answer: Answer): string | undefined {
  const op = test.ops[i] as Op;
  if (expected.error !== undefined || expected.hangs === true) {
    // If the recorded call hung, our call must throw.
    const kinds = expected.hangs === true ? undefined : accepted(test, i, expected.error as Result);
    if (!("error" in answer)) return differs("", kinds === undefined ? "an error where the real call never comes back" : kinds.join(" or "), answer.result);
    const kind = kindOf(answer.error);
    const fits = kinds === undefined ? kind !== undefined : kind !== undefined && kinds.includes(kind);
    return fits ? undefined : differs("", kinds?.join(" or ") ?? "an error", String(answer.error));
  }
  if ("error" in answer) return differs("", expected, String(answer.error));
  if (op[0] === "sample_tally") return tallyDifference(expected as unknown as Tally, answer.result as unknown as Tally);
  return valueDifference("", held(op, expected), answer.result);
}

/** Removes the parts of an expected answer that are not compared, and converts the limit on samples to our form. */
function held([kind]: Op, expected: Result): Result {
  if (kind === "sample_timeout") return { ...expected, how: undefined };
  // `sampler` and `remover` are texts of Reverb's protocol. A recorded limit of 0 or less means no limit, which our info shows as 0.
  if (kind === "info") return { ...expected, sampler: undefined, remover: undefined, max_times_sampled: Math.max(expected.max_times_sampled as number, 0) };
  return expected;
}

export function valueDifference(path: string, expected: unknown, got: unknown): string | undefined {
  const want = scalar(expected);
  const have = scalar(got);
  if (typeof want === "number" && typeof have === "number") return close(want, have) ? undefined : differs(path, want, have);
  if (typeof want !== "object" || typeof have !== "object" || want === null || have === null) return want === have ? undefined : differs(path, want, have);
  if (Array.isArray(want) !== Array.isArray(have)) return differs(path, want, have);
  if (Array.isArray(want) && want.length !== (have as unknown[]).length) return differs(path, want, have);
  const keys = new Set([...Object.keys(want), ...Object.keys(have)]);
  for (const key of keys) {
    const found = valueDifference(Array.isArray(want) ? `${path}[${key}]` : `${path}.${key}`, (want as Result)[key], (have as Result)[key]);
    if (found !== undefined) return found;
  }
  return undefined;
}

interface Tally {
  readonly n: number;
  readonly outcomes: readonly { readonly value: unknown; readonly priority: number; readonly probability: number; readonly count?: number }[];
}

/** Checks that outcomes and probabilities are equal, and that our counts are likely. A very rare outcome may be missing on either side. */
function tallyDifference(expected: Tally, got: Tally): string | undefined {
  if (expected.n !== got.n) return differs(".n", expected.n, got.n);
  let certain = 0;
  for (const want of expected.outcomes) {
    const path = `.outcomes of ${JSON.stringify(want.value)}`;
    const have = got.outcomes.find((one) => one.value === want.value);
    certain += want.probability;
    // The 1 is added because rare outcomes are not normally distributed.
    const spread = 1 + SIGMA * Math.sqrt(got.n * want.probability * (1 - want.probability));
    const count = have?.count ?? 0;
    if (Math.abs(count - got.n * want.probability) > spread) return differs(path, `about ${got.n * want.probability} of ${got.n}`, count);
    const found =
      have && valueDifference(path, { priority: want.priority, probability: want.probability }, { priority: have.priority, probability: have.probability });
    if (found !== undefined) return found;
  }
  for (const have of got.outcomes) {
    if (expected.outcomes.some((want) => want.value === have.value)) continue;
    certain += have.probability;
    const likely = (1 - have.probability) ** expected.n;
    if (certain > 1 + TOLERANCE || likely < TOLERANCE)
      return differs(
        ".outcomes",
        expected.outcomes.map((want) => want.value),
        have,
      );
  }
  return undefined;
}

function scalar(value: unknown): unknown {
  return typeof value === "boolean" ? Number(value) : numberOf(value);
}

function close(a: number, b: number): boolean {
  return Object.is(a, b) || a === b || Math.abs(a - b) <= TOLERANCE * Math.max(Math.abs(a), Math.abs(b));
}

function differs(path: string, expected: unknown, got: unknown): string {
  return `${path === "" ? "" : `${path}: `}expected ${text(expected)}, got ${text(got)}`;
}

function text(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value, (_, part) => (typeof part === "number" && !Number.isFinite(part) ? String(part) : part));
}
