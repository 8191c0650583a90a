/** Defines the constructors of a spec's leaves. The main entry exports all of them. */

import { finite, integer, onlyKeys } from "../base/error.ts";
import { hideFrames } from "../base/stack-trace.ts";
import type { Dtype } from "./dtype.ts";
import type { BoundedText, Leaf, RowLeaf } from "./leaf.ts";

function of<D extends Dtype>(dtype: D) {
  return <const S extends readonly number[]>(...shape: S): Leaf<D, S> => ({ dtype, shape });
}

/**
 * Returns a leaf of the dtype `bool`. The functions below do the same for their dtypes. `f32(84, 84)` is `{dtype: "f32", shape: [84, 84]}`, and `i32()` is a
 * single number.
 */
export const bool = of("bool");
export const i8 = of("i8");
export const u8 = of("u8");
export const i16 = of("i16");
export const u16 = of("u16");
export const i32 = of("i32");
export const u32 = of("u32");
export const i64 = of("i64");
export const u64 = of("u64");
export const f32 = of("f32");
export const f64 = of("f64");

/**
 * Returns a leaf of half floats. `f16(84, 84)` takes half the memory of `f32(84, 84)`, but batches still contain a Float32Array. Values are rounded to the
 * nearest half, ties to even. `f16` is IEEE 754 binary16, with values up to 65504 and 11 bits of precision. `bf16` is bfloat16, with the range of f32 and 8
 * bits of precision. A finite number that would become infinite is rejected with INVALID_DATA, as with `f32`. Both accept numbers, nested arrays and a
 * Float32Array. `f16` also accepts a Float16Array.
 */
export const f16 = of("f16");
export const bf16 = of("bf16");

/**
 * Returns a leaf of text. `text({ maxBytes: 64 })` is one string, and `text({ maxBytes: 64 }, 2)` is an array of two strings. Every string takes maxBytes + 4
 * bytes, rounded up to a multiple of 4, in each step, regardless of its length. Use `shared` to store text only once if it stays the same over many steps.
 * @param options.maxBytes the maximum number of UTF-8 bytes of a string; a character takes 1 to 4 bytes
 * @throws TypeError, RangeError if maxBytes is not a whole number of at least 1
 */
export function text<const S extends readonly number[]>(options: { readonly maxBytes: number }, ...shape: S): BoundedText<S> {
  hideFrames(text);
  const { maxBytes } = onlyKeys("text", options, "maxBytes");
  integer("maxBytes", maxBytes, 1);
  return { dtype: "string", shape, maxBytes };
}

/**
 * Returns a copy of a leaf whose values are shared. Equal values of all leaves with this name are stored once, such as `state` and `nextState` of a transition,
 * or the frames of a stack. A step shares values with the previous step of its stream if their bytes are equal. Values of zeros, and empty texts, take no
 * space.
 * @param stack the number of frames in a value, which then has a leading dimension of that length; each frame is shared separately
 */
export function shared<D extends Dtype, const S extends readonly number[]>(
  name: string,
  leaf: Leaf<D, S>,
  stack?: undefined,
): Leaf<D, S> & { readonly shared: string };
export function shared<D extends Dtype, const S extends readonly number[], const N extends number>(
  name: string,
  leaf: Leaf<D, S>,
  stack: N,
): Leaf<D, S> & { readonly shared: string; readonly stack: N };
export function shared<const S extends readonly number[]>(name: string, leaf: BoundedText<S>, stack?: undefined): BoundedText<S> & { readonly shared: string };
export function shared<const S extends readonly number[], const N extends number>(
  name: string,
  leaf: BoundedText<S>,
  stack: N,
): BoundedText<S> & { readonly shared: string; readonly stack: N };
export function shared(name: string, leaf: RowLeaf, stack?: number): RowLeaf {
  return { ...leaf, shared: name, stack };
}

/** The default ratio. All 57 games of the Arcade Learning Environment, in DQN's preprocessing, pack at least this well under a random policy. */
const RATIO = 4;

/** The options of `packed`. */
export interface PackedOptions {
  /** The expected size of frames divided by their packed size, at least 1. `Replay.plan` and the constructor compute memory with this ratio. Default: 4. */
  readonly ratio?: number;
}

/**
 * Returns a copy of a leaf whose frames are packed. Equal values of all leaves with this name are stored once, as with `shared`, and compressed without loss.
 * Each frame is stored as the bytes that differ from the previous frame, or as a block of LZ4. Reading a frame applies at most seven such differences. With
 * `stack`, a value has a leading dimension of that length, and each frame is packed separately.
 *
 * Packed screens of games take 4 to 60 times less memory, and sampling takes 1.3 to 1.5 times as long. Camera images and noise do not become smaller, and
 * sampling takes up to 1.1 times as long. The leaf may have any dtype. `packed` is unrelated to `pack`, which nests values like a spec.
 * @param options.ratio the expected size of frames divided by their packed size. Default: 4
 * @throws RangeError if `ratio` is below 1. `new Replay` throws a RangeError if a frame has fewer than 256 bytes, for which `shared` needs less memory, or if a
 * frame has 16 MiB or more
 */
export function packed<D extends Dtype, const S extends readonly number[]>(
  name: string,
  leaf: Leaf<D, S>,
  options?: PackedOptions,
): Leaf<D, S> & { readonly shared: string };
export function packed<D extends Dtype, const S extends readonly number[], const N extends number>(
  name: string,
  leaf: Leaf<D, S>,
  stack: N,
  options?: PackedOptions,
): Leaf<D, S> & { readonly shared: string; readonly stack: N };
export function packed<const S extends readonly number[]>(
  name: string,
  leaf: BoundedText<S>,
  options?: PackedOptions,
): BoundedText<S> & { readonly shared: string };
export function packed<const S extends readonly number[], const N extends number>(
  name: string,
  leaf: BoundedText<S>,
  stack: N,
  options?: PackedOptions,
): BoundedText<S> & { readonly shared: string; readonly stack: N };
export function packed(name: string, leaf: RowLeaf, stackOrOptions?: number | PackedOptions, options?: PackedOptions): RowLeaf {
  hideFrames(packed);
  const stack = typeof stackOrOptions === "object" ? undefined : stackOrOptions;
  const { ratio = RATIO } = onlyKeys("packed", (typeof stackOrOptions === "object" ? stackOrOptions : options) ?? {}, "ratio");
  return { ...leaf, shared: name, stack, packed: finite("ratio", ratio, 1) };
}
