/**
 * Parses splits and slices in the notation of tensorflow_datasets, such as `train`, `train[:10]`, `train[10%:-5%]`, `train[1shard:]`, `train+test` or `all`.
 */
import { mustBe } from "../../../base/error.ts";
import { RldsError } from "../../model/rlds-error.ts";
import { INFO, type Split } from "./dataset-info.ts";

/** The records `from` … `to - 1` of a split. */
export interface SplitPart {
  readonly split: Split;
  readonly from: number;
  readonly to: number;
}

const SPLIT_PART = /^([\w-]+)(?:\[([\w%:.-]+)\])?$/;
const BOUND = /^(?:(-?[\d.]+)(%|shard)?)?$/;
const RULE = "one or more split names, optionally with a range, such as train, train[:10], train[10%:20%] or train+test";

/**
 * Returns the default split, which is `train` or the only split.
 * @throws RangeError if there are several splits without `train` · RldsError EMPTY if there are no splits
 */
export function defaultSplit(splits: readonly Split[]): SplitPart {
  if (splits.length === 0) throw new RldsError("EMPTY", "the dataset has no splits", { file: INFO });
  const split = splits.find(({ name }) => name === "train") ?? (splits.length === 1 ? splits[0] : undefined);
  if (split !== undefined) return selectAll(split);
  throw mustBe(RangeError, "split", `one of ${names(splits)}`, undefined);
}

/** Parses a split. @throws RangeError if the string is invalid, if a split is unknown, or if a slice exceeds its split */
export function partsOf(text: string, splits: readonly Split[]): SplitPart[] {
  return text.split("+").flatMap((term) => {
    const [, name, slice] = SPLIT_PART.exec(term.trim()) ?? [];
    if (name === undefined) throw mustBe(RangeError, "split", RULE, text);
    if (name === "all" && slice === undefined) return splits.map(selectAll);
    const split = splits.find((candidate) => candidate.name === name);
    if (split === undefined)
      throw mustBe(
        RangeError,
        "split",
        `one of ${names(splits)}`,
        name,
        splits.map((known) => known.name),
      );
    return [{ split, ...bounds(slice, split, text) }];
  });
}

function selectAll(split: Split): SplitPart {
  return { split, from: 0, to: sum(split.shardLengths) };
}

function bounds(slice: string | undefined, { shardLengths }: Split, text: string): { from: number; to: number } {
  const max = sum(shardLengths);
  if (slice === undefined) return { from: 0, to: max };
  const matches = slice.split(":").map((bound) => BOUND.exec(bound));
  const units = matches.map((bound) => bound?.[2]);
  const unit = units.find((value) => value !== undefined);
  const values = matches.map((bound) => (bound?.[1] === undefined ? undefined : Number(bound[1])));
  // A single number selects one shard.
  if (matches.length === 1 && unit === "shard" && values[0] !== undefined) {
    matches.push(matches[0] as RegExpExecArray | null);
    values.push(values[0] + 1);
  }
  const isWhole = (value: number | undefined) => value === undefined || (unit === "%" ? Math.abs(value) <= 100 : Number.isInteger(value));
  if (matches.length !== 2 || matches.includes(null) || !values.every(isWhole) || values.every((value) => value === undefined)) {
    throw mustBe(RangeError, "split", RULE, text);
  }
  const absolute = (value: number, i: number) => (unit === "%" ? percent(value) : unit === "shard" ? shards(value, i) : value);
  const [from, to] = values.map((value, i) => (value === undefined ? [0, max][i] : absolute(value, i))) as [number, number];
  if (Math.abs(from) > max || Math.abs(to) > max) throw mustBe(RangeError, "split", `within the ${max} existing records`, text);
  return { from: from < 0 ? max + from : from, to: to < 0 ? max + to : to };

  function percent(value: number): number {
    return halfToEven((value * max) / 100);
  }
  function shards(value: number, i: number): number {
    return sum(shardLengths.slice(0, i === 1 && value <= 0 ? shardLengths.length + value : value));
  }
}

/** Rounds like Python, where a half is rounded to the nearest even integer. */
function halfToEven(value: number): number {
  const floor = Math.floor(value);
  if (value - floor !== 0.5) return Math.round(value);
  return floor % 2 === 0 ? floor : floor + 1;
}

function sum(lengths: readonly number[]): number {
  return lengths.reduce((total, length) => total + length, 0);
}

function names(splits: readonly Split[]): string {
  return splits.map(({ name }) => name).join(", ");
}
