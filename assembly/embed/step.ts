/** Checks packed steps from a host, and converts several of them to a block of columns. */
import { bytesZero, copyBytes } from "../memory/bytes";
import { halves_narrow, halvesFitting } from "../memory/half";
import { BF16, BOOL, dtypeName, isHalf, TEXT } from "../rows/leaf";
import { Field } from "./field";
import { INVALID_DATA, Refusal } from "./refusal";
import { Root, WORK } from "./root";
import { isUtf8 } from "./utf8";

/** The number of bytes before a text, which contain the length of the text. */
const TEXT_HEAD: u32 = 4;

/** Checks n packed steps: flags must be 0 or 1, texts valid, and numbers representable as half floats where these are used. Returns 0 or INVALID_DATA. */
export function checkSteps(root: Root, at: usize, n: u32): i32 {
  if (root.checked == 0) return 0;
  for (let i: u32 = 0; i < n; i++, at += <usize>root.stepBytes) {
    const code = checkStep(root, at, i);
    if (code != 0) return code;
  }
  return 0;
}

/**
 * Returns the address of a packed step in the format of rows: the step itself, or, if it has half floats, a copy in which f32 is converted to half floats. Does
 * not change the bytes of the host. Returns 0 if there is no memory.
 */
export function narrowStep(root: Root, at: usize): usize {
  if (<f64>root.stepBytes <= root.stagedBytes) return at;
  const copy = root.region(WORK, <u64>root.stagedBytes);
  if (copy == 0) return 0;
  memory.copy(copy, at, <usize>root.stagedBytes);
  for (let i: u32 = 0; i < root.fields().count; i++) {
    const field = Field.of(i);
    if (isHalf(field.dtype) != 0) halves_narrow(copy + <usize>field.staged, at + <usize>field.array, field.size, field.dtype == BF16);
  }
  return copy;
}

function checkStep(root: Root, step: usize, number: u32): i32 {
  for (let i: u32 = 0; i < root.fields().count; i++) {
    const code = checkValue(Field.of(i), number, step + <usize>Field.of(i).array);
    if (code != 0) return code;
  }
  return 0;
}

/** Checks a leaf's value, in the host's format, of step `number`. Returns 0 or INVALID_DATA. */
export function checkValue(field: Field, number: u32, from: usize): i32 {
  if (field.dtype == BOOL) {
    for (let k: u32 = 0; k < field.size; k++) {
      if (load<u8>(from + <usize>k) > 1)
        return wrong(field, number, k)
          .put(" must be 0 or 1, got ")
          .number(load<u8>(from + <usize>k)).code;
    }
  } else if (isHalf(field.dtype) != 0) {
    const k = halvesFitting(from, field.size, field.dtype == BF16);
    if (k < field.size)
      return wrong(field, number, k)
        .put(" must fit in ")
        .put(dtypeName(field.dtype))
        .put(", or be infinite, got ")
        .number(load<f32>(from + <usize>(k << 2))).code;
  } else if (field.dtype == TEXT) {
    const each = field.elementBytes();
    for (let k: u32 = 0; k < field.size; k++) {
      const code = checkText(field, number, k, from + <usize>(k * each));
      if (code != 0) return code;
    }
  }
  return 0;
}

/** Copies a leaf's value in the format of rows, with f32 converted to half floats. */
export function copyValue(field: Field, to: usize, from: usize): void {
  if (isHalf(field.dtype) != 0) halves_narrow(to, from, field.size, field.dtype == BF16);
  else copyBytes(to, from, field.valueBytes);
}

function checkText(field: Field, number: u32, k: u32, at: usize): i32 {
  const bytes = load<u32>(at);
  if (bytes > field.maxBytes) return wrong(field, number, k).put(" must have at most ").number(field.maxBytes).put(" bytes, got ").number(bytes).code;
  if (!isUtf8(at + TEXT_HEAD, bytes)) return wrong(field, number, k).put(" must be UTF-8").code;
  const used = TEXT_HEAD + bytes;
  return bytesZero(at + used, field.elementBytes() - used) ? 0 : wrong(field, number, k).put(" must have zeros after its text").code;
}

function wrong(field: Field, step: u32, element: u32): Refusal {
  return Refusal.of(INVALID_DATA).put("step").index(step).put(": ").word(field.path, field.bytes).index(element);
}

/** Returns the number of bytes of n steps as a block: addresses of columns and of the rules' priorities, then columns. */
export function blockBytes(root: Root, rules: u32, n: u32): u64 {
  let bytes = headOf(root, rules);
  for (let i: u32 = 0; i < root.fields().count; i++) bytes += columnOf(Field.of(i), n);
  return bytes;
}

/** Writes n packed steps as a block, without priorities. O(bytes) */
export function writeBlock(root: Root, rules: u32, n: u32, from: usize, to: usize): void {
  const stepBytes = <usize>root.stepBytes;
  memory.fill(to, 0, <usize>headOf(root, rules));
  let column = to + <usize>headOf(root, rules);
  for (let i: u32 = 0; i < root.fields().count; i++) {
    const field = Field.of(i);
    store<u32>(to + (i << 2), <u32>column);
    let value = from + <usize>field.array;
    let at = column;
    for (let k: u32 = 0; k < n; k++, value += stepBytes, at += field.valueBytes) {
      copyValue(field, at, value);
    }
    column += <usize>columnOf(field, n);
  }
}

function headOf(root: Root, rules: u32): u64 {
  return (4 * <u64>(root.fields().count + rules) + 15) & ~15;
}

function columnOf(field: Field, n: u32): u64 {
  return (<u64>field.valueBytes * <u64>n + 15) & ~15;
}
