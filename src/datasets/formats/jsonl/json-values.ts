/**
 * Converts the values of leaves to JSON and back without loss. NaN, infinities and -0 become strings, integers whose magnitude is 2^53 or more become decimal
 * strings, and bytes become base64.
 */

import { isFloat } from "../../../schema/dtype.ts";
import { isLeaf, sizeOf } from "../../../schema/leaf.ts";
import { pack } from "../../../schema/nest.ts";
import type { StepLeaf, StepSpec } from "../../model/dataset.ts";
import { leavesOf } from "../../model/leaves.ts";
import type { ColumnData } from "../../model/step-columns.ts";

/** Returns row i of the columns as JSON, nested like the spec. A leaf with a shape becomes nested arrays of that shape. */
export function jsonRow(spec: StepSpec, data: readonly ColumnData[], i: number): unknown {
  const values = leavesOf(spec).map(({ leaf, size }, k) => jsonLeaf(leaf, size, data[k] as ColumnData, i * size));
  return pack(spec, values);
}

function jsonLeaf(leaf: StepLeaf, size: number, data: ColumnData, at: number): unknown {
  if (leaf.shape.length === 0) return jsonElement(leaf, data[at]);
  const nest = (depth: number, from: number, elements: number): unknown => {
    if (depth === leaf.shape.length) return jsonElement(leaf, data[from]);
    const length = leaf.shape[depth] as number;
    const below = sizeOf(leaf.shape.slice(depth + 1));
    return Array.from({ length }, (_, k) => nest(depth + 1, from + k * below, elements / length));
  };
  return nest(0, at, size);
}

function jsonElement({ dtype }: StepLeaf, value: unknown): unknown {
  if (dtype === "bool") return value === 1;
  if (dtype === "bytes") return base64(value as Uint8Array);
  if (typeof value === "bigint") return value > -(2n ** 53n) && value < 2n ** 53n ? Number(value) : String(value);
  // JSON cannot represent NaN and infinities, and JSON.stringify writes -0 as 0.
  if (typeof value === "number" && (!Number.isFinite(value) || Object.is(value, -0))) return Object.is(value, -0) ? "-0" : String(value);
  return value;
}

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** The value of each base64 digit, by character code. 0 for characters that are not digits. */
const VALUES = Uint8Array.from({ length: 128 }, (_, code) => Math.max(DIGITS.indexOf(String.fromCharCode(code)), 0));

/** Encodes bytes as base64. */
export function base64(bytes: Uint8Array): string {
  const text = new Uint8Array(4 * Math.ceil(bytes.length / 3)).fill("=".charCodeAt(0));
  for (let i = 0, at = 0; i < bytes.length; i += 3, at += 4) {
    const remaining = bytes.length - i;
    const three = ((bytes[i] as number) << 16) | ((bytes[i + 1] ?? 0) << 8) | (bytes[i + 2] ?? 0);
    // One byte takes two digits, and two bytes take three.
    for (let k = 0; k <= Math.min(remaining, 3); k++) text[at + k] = DIGITS.charCodeAt((three >> (18 - 6 * k)) & 63);
  }
  return new TextDecoder().decode(text);
}

/** Converts JSON that `jsonRow` returned back to the values of leaves. Values that need no conversion or do not fit their leaf are returned unchanged. */
export function valuesOfJson(spec: StepSpec, value: unknown): unknown {
  const visit = (node: StepSpec, at: unknown): unknown => {
    if (isLeaf(node)) return elementsOfJson(node, at);
    if (typeof at !== "object" || at === null) return at;
    const nodes = node as { readonly [name: string]: StepSpec };
    const entries = Object.entries(at).map(([name, part]) => [name, Object.hasOwn(nodes, name) ? visit(nodes[name] as StepSpec, part) : part]);
    return Array.isArray(node) ? entries.map(([, part]) => part) : Object.fromEntries(entries);
  };
  return visit(spec, value);
}

function elementsOfJson(leaf: StepLeaf, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((part) => elementsOfJson(leaf, part));
  if (typeof value === "bigint" && isFloat(leaf.dtype)) return Number(value);
  // If some integers of a leaf fit neither i64 nor u64, the leaf is a string leaf, and all its integers become decimal strings.
  if (leaf.dtype === "string" && (typeof value === "bigint" || Number.isSafeInteger(value))) return String(value);
  if (typeof value !== "string") return value;
  if (leaf.dtype === "bytes") return bytesOfBase64(value) ?? value;
  if (isFloat(leaf.dtype)) return /^(NaN|-?Infinity|-0)$/.test(value) ? Number(value) : value;
  if (leaf.dtype === "i64" || leaf.dtype === "u64") return /^-?\d{1,20}$/.test(value) ? BigInt(value) : value;
  return value;
}

/** Decodes base64. Returns undefined if the text is not base64. */
export function bytesOfBase64(text: string): Uint8Array | undefined {
  // The expression has no repeated group, because matching one would recurse too deeply for a long text.
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return undefined;
  const bytes = new Uint8Array((text.length / 4) * 3 - (text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0));
  for (let i = 0, at = 0; i < text.length; i += 4) {
    let four = 0;
    for (let k = i; k < i + 4; k++) four = (four << 6) | (VALUES[text.charCodeAt(k)] as number);
    for (let shift = 16; shift >= 0 && at < bytes.length; shift -= 8) bytes[at++] = (four >> shift) & 255;
  }
  return bytes;
}
