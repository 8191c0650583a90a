/** Generates reproducible episodes of any spec, with numbers over the whole range of their dtypes. */
import type { RldsDataset, StepLeaf, StepSpec } from "../../src/datasets/model/dataset.ts";
import { zeros } from "../../src/schema/dtype.ts";
import { isLeaf, sizeOf } from "../../src/schema/leaf.ts";

export const leaf = (dtype: string, shape: readonly number[] = []) => ({ dtype, shape }) as StepLeaf;

export const FLAGS = { is_first: leaf("bool"), is_last: leaf("bool"), is_terminal: leaf("bool") } as const;

export type MadeDataset = { readonly steps: unknown[]; readonly [name: string]: unknown }[] & Pick<RldsDataset<unknown>, "stepSpec" | "metadataSpec">;

export interface MadeOptions {
  readonly metadataSpec?: { readonly [name: string]: StepSpec };
  readonly metadata?: (episode: number) => object;
  /** Whether an episode terminates. Default: all episodes do. */
  readonly terminal?: (episode: number) => boolean;
}

const TEXTS = ["", "plain", "ünïcödé", "日本語", "\u{1f916}", "a\u0000b", "x".repeat(100)];
const RANGES: { readonly [dtype: string]: readonly [min: number, count: number] } = {
  ...{ i8: [-128, 256], u8: [0, 256], i16: [-32768, 65536], u16: [0, 65536], i32: [-(2 ** 31), 2 ** 32], u32: [0, 2 ** 32] },
};

/** Returns a value of a leaf: a typed array if it has dimensions, or a flat list for text. */
export function made(
  spec: StepSpec,
  lengths: readonly number[],
  { metadataSpec = {}, metadata = () => ({}), terminal = () => true }: MadeOptions = {},
): MadeDataset {
  let state = 7;
  const next = (below: number) => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const element = (dtype: string): unknown => {
    if (dtype === "string") return TEXTS[next(TEXTS.length)];
    if (dtype === "bytes") return Uint8Array.from({ length: next(5) }, () => next(256));
    if (dtype === "bool") return next(2) === 1;
    if (dtype === "u64") return BigInt(next(2 ** 31)) << 32n;
    if (dtype === "i64") return (BigInt(next(2 ** 31)) << 32n) - 2n ** 62n;
    if (dtype.startsWith("f")) return Math.fround(next(2 ** 24) / 977 - 5000);
    const [min, count] = RANGES[dtype] as readonly [number, number];
    return min + next(count);
  };
  const elements = ({ dtype, shape }: StepLeaf): unknown => {
    const all = Array.from({ length: sizeOf(shape) }, () => element(dtype));
    if (dtype === "string" || dtype === "bytes") return all;
    const array = zeros(dtype, all.length);
    for (const [i, one] of all.entries()) array[i] = (dtype === "bool" ? Number(one) : one) as never;
    return array;
  };
  const value = (node: StepSpec): unknown => {
    if (isLeaf(node)) return node.shape.length === 0 ? element(node.dtype) : elements(node);
    if (Array.isArray(node)) return node.map(value);
    return Object.fromEntries(Object.entries(node).map(([name, part]) => [name, value(part as StepSpec)]));
  };
  const episodes = lengths.map((length, k) => ({
    steps: Array.from({ length }, (_, i) => ({
      ...(value(spec) as object),
      ...{ is_first: i === 0, is_last: i === length - 1, is_terminal: i === length - 1 && terminal(k) },
    })),
    ...metadata(k),
  }));
  return Object.assign(episodes, { stepSpec: spec, metadataSpec });
}
