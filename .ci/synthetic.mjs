// Generates data with everything that a file may contain, and writes its columns to files that Python reads. This code shares nothing with the writers.
import { writeFileSync } from "node:fs";
import { join } from "node:path";

const ARRAYS = {
  ...{ bool: Uint8Array, i8: Int8Array, u8: Uint8Array, i16: Int16Array, u16: Uint16Array, i32: Int32Array, u32: Uint32Array },
  ...{ i64: BigInt64Array, u64: BigUint64Array, f32: Float32Array, f64: Float64Array },
};

/** Returns the leaves with their paths, in order. */
export function leavesOf(spec, keys = []) {
  if (typeof spec.dtype === "string") return [{ path: keys.join("/"), keys, ...spec }];
  return Object.keys(spec).flatMap((name) => leavesOf(spec[name], [...keys, name]));
}

/** Writes values to files of columns in a folder, as the data that Python must find. */
export function dump(folder, name, spec, values) {
  return leavesOf(spec).map(({ path, keys, dtype, shape }, k) => {
    const flat = [];
    const spread = (part) => {
      if (Array.isArray(part) || (ArrayBuffer.isView(part) && dtype !== "bytes")) for (const one of part) spread(one);
      else flat.push(part);
    };
    for (const value of values) spread(keys.reduce((at, key) => at[key], value));
    const file = join(folder, `${name}-${k}.bin`);
    if (dtype === "string") return { path, dtype, shape, texts: flat };
    if (dtype === "bytes") return { path, dtype, shape, texts: flat.map((bytes) => Buffer.from(bytes).toString("base64")) };
    writeFileSync(
      file,
      new Uint8Array(ARRAYS[dtype].from(flat, (one) => (dtype === "bool" ? Number(one) : dtype.endsWith("64") && dtype[0] !== "f" ? BigInt(one) : one)).buffer),
    );
    return { path, dtype, shape, file };
  });
}

export const leaf = (dtype, shape = []) => ({ dtype, shape });
export const stepSpec = {
  observation: {
    image: leaf("u8", [6, 5, 3]),
    gray: leaf("u8", [4, 4, 1]),
    state: leaf("f32", [7]),
    none: leaf("f32", [0]),
    wide: leaf("f64", [2, 3]),
    deep: { a: leaf("i8"), b: leaf("u16", [3]) },
  },
  action: leaf("i64", [2]),
  reward: leaf("f64"),
  discount: leaf("f32"),
  ...{ is_first: leaf("bool"), is_last: leaf("bool"), is_terminal: leaf("bool") },
  language_instruction: leaf("string"),
  raw: leaf("bytes"),
  words: leaf("string", [2]),
  ...{ u64: leaf("u64"), u32: leaf("u32", [2]), i16: leaf("i16"), i32: leaf("i32"), flags: leaf("bool", [3]), u8: leaf("u8", [4]) },
};
export const metadataSpec = {
  episode_id: leaf("i64"),
  operator: leaf("string"),
  score: leaf("f64"),
  vector: leaf("f32", [3]),
  inner: { success: leaf("bool") },
};

/** Returns steps with every kind of leaf, including the values that are most likely to break a reader or writer. */
export function synthetic(lengths) {
  let state = 12345;
  const next = (below) => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return (state >>> 8) % below;
  };
  const odd = [0, -0, 1e-45, -1e-310, 3.4028234663852886e38, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0.1, Math.PI];
  const floats = (length, round = (x) => x) => Array.from({ length }, () => (next(3) === 0 ? round(odd[next(odd.length)]) : round(next(2 ** 24) / 977 - 5000)));
  const bytes = (length) => Uint8Array.from({ length }, () => next(256));
  const texts = ["", "plain", "ünïcödé", "日本語のテキスト", "\u{1f916} \u{1f4a5}", "a\u0000b", 'quote " and \\', "x".repeat(300)];
  const wide = [0n, -1n, 2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n + 1n];
  return lengths.map((length, k) => ({
    steps: Array.from({ length }, (_, i) => ({
      observation: {
        image: bytes(90),
        gray: bytes(16),
        state: Float32Array.from(floats(7)),
        none: [],
        wide: [floats(3), floats(3)],
        deep: { a: next(256) - 128, b: [0, 65535, next(65536)] },
      },
      action: [wide[next(5)], BigInt(next(1000))],
      reward: floats(1)[0],
      discount: Math.fround(floats(1)[0]),
      ...{ is_first: i === 0, is_last: i === length - 1, is_terminal: i === length - 1 && k % 2 === 0 },
      language_instruction: texts[next(texts.length)],
      raw: bytes(next(20)),
      words: [texts[next(texts.length)], `step ${i}`],
      ...{
        u64: i % 2 === 0 ? 2n ** 63n - 1n : BigInt(next(9)),
        u32: [4294967295, next(100)],
        i16: next(65536) - 32768,
        i32: i % 2 === 0 ? -(2 ** 31) : 2 ** 31 - 1,
      },
      ...{ flags: [next(2) === 1, true, false], u8: bytes(4) },
    })),
    episode_id: BigInt(k) - 2n ** 62n,
    operator: texts[k % texts.length],
    score: k / 7,
    vector: [k, k / 3, -k],
    inner: { success: k % 3 === 0 },
  }));
}
