/** Which values an object column takes: those that can be saved. */
import { internals } from "../index.ts";
import { dtypeOf } from "./leaf.ts";
import { isPlain } from "./step-spec.ts";

const { mustBe } = internals;

/** Deeper than this is taken for a circle. */
const DEEPEST = 64;

/** @throws TypeError that names the path of what cannot be saved: functions, symbols, instances of classes, circles */
export function checkTagged(value: unknown, path: string, depth = 0): void {
  const kind = typeof value;
  if (kind === "function" || kind === "symbol") throw refused(path, value);
  if (kind !== "object" || value === null) return;
  if (depth > DEEPEST) throw mustBe(TypeError, path, `nested at most ${DEEPEST} deep, and in no circle`, value);
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) checkTagged(value[i], `${path}[${i}]`, depth + 1);
  } else if (value instanceof Map) {
    let i = 0;
    for (const [key, held] of value) {
      checkTagged(key, `${path} key ${i}`, depth + 1);
      checkTagged(held, `${path} value ${i++}`, depth + 1);
    }
  } else if (value instanceof Set) {
    let i = 0;
    for (const held of value) checkTagged(held, `${path} element ${i++}`, depth + 1);
  } else if (isPlain(value)) {
    for (const key of Object.keys(value)) checkTagged(value[key], `${path}.${key}`, depth + 1);
  } else if (dtypeOf(value) === undefined && !(value instanceof Date || value instanceof ArrayBuffer || value instanceof Uint8ClampedArray)) {
    throw refused(path, value);
  }
}

function refused(path: string, value: unknown): Error {
  return mustBe(TypeError, path, "what can be saved (no function, symbol or instance of a class)", value);
}
