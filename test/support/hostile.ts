/** Derives hostile values, which no program passes on purpose, from valid values, for tests that pass them to every public call. */
import type { TestRandom } from "./random.ts";

/** Thrown by the getters and traps in this file. A caller's own error must pass through unchanged. */
export class Thrown extends Error {}

class Liar extends Float64Array {
  override get length(): number {
    return 2;
  }
}
class ByteLiar extends Uint8Array {
  override get length(): number {
    return 3;
  }
  override get buffer(): ArrayBuffer {
    return new ArrayBuffer(8);
  }
}

const ARRAYS = [Uint8Array, Int8Array, Uint8ClampedArray, Int32Array, Uint32Array, Float32Array, Float64Array, BigInt64Array, BigUint64Array] as const;
const NUMBERS = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0, 0, -1, 1.5, 7, 255, 2 ** 31, 2 ** 32, 2 ** 53, 1e308, 5e-324, -(2 ** 63)];
const OTHERS = ["", "abc", "__proto__", "constructor", "1", "\ud800", "é".repeat(40), 0n, 1n, 2n ** 64n, -1n, true, false, null, undefined];

function typed(random: TestRandom): unknown {
  const Class = random.pick(ARRAYS);
  const length = random.pick([0, 1, 2, 3, 4, 6, 8, 12, 1000]);
  const bytes = length * Class.BYTES_PER_ELEMENT;
  switch (random.below(9)) {
    case 0: {
      const gone = new Class(length);
      structuredClone(gone.buffer, { transfer: [gone.buffer] });
      return gone;
    }
    case 1: {
      // @types/node does not declare resizable buffers yet.
      const buffer = new (ArrayBuffer as unknown as new (bytes: number, options: object) => ArrayBuffer & { resize?(bytes: number): void })(bytes, {
        maxByteLength: bytes + 64,
      });
      const array = random.below(2) === 0 ? new Class(buffer) : new Class(buffer, 0, length);
      buffer.resize?.(random.below(2) === 0 ? 0 : Math.floor(bytes / 2));
      return array;
    }
    case 2:
      return new Class(new SharedArrayBuffer(bytes) as never);
    case 3:
      return new Proxy(new Class(length), {});
    case 4:
      return Object.create(Class.prototype);
    case 5:
      return random.pick([new Liar(length), new ByteLiar(length), new DataView(new ArrayBuffer(bytes)), new ArrayBuffer(bytes)]);
    case 6:
      return { [Symbol.toStringTag]: Class.name, length, 0: 1, 1: 2, 2: 3 };
    default: {
      const array = new Class(length);
      for (let i = 0; i < length; i++)
        array[i] = array instanceof BigInt64Array || array instanceof BigUint64Array ? BigInt(random.below(300)) : (random.pick(NUMBERS) as never);
      return array;
    }
  }
}

/** @param again a public call that a getter or a trap makes */
function structured(random: TestRandom, good: unknown, again: () => void): unknown {
  const raise = (): never => {
    throw new Thrown("from a getter");
  };
  const within = <T>(value: T): T => {
    again();
    return value;
  };
  const hit = random.below(2) === 0 ? raise : () => within(good);
  const keys = typeof good === "object" && good !== null ? Object.keys(good) : [];
  const key = keys.length === 0 ? "length" : random.pick(keys);
  const copy = (Array.isArray(good) ? [...good] : { ...(good as object) }) as { [name: string]: unknown };
  switch (random.below(12)) {
    case 0:
      return Object.assign(Object.create(null), copy);
    case 1:
      return { ...copy, [random.pick(["extra", "__proto__x", "valueOf", "toJSON"])]: random.pick(NUMBERS) };
    case 2:
      if (keys.length > 0) delete copy[key];
      return copy;
    case 3: {
      const value = copy[key];
      return Object.defineProperty(copy, key === "length" ? "own" : key, {
        enumerable: true,
        configurable: true,
        get: random.below(2) === 0 ? raise : () => within(value),
      });
    }
    case 4: {
      let asked = 0;
      return new Proxy(copy, { get: (of, name) => (asked++ > 1 && name === "length" ? 5000 : Reflect.get(of, name)) });
    }
    case 5:
      return new Proxy(copy, { [random.pick(["get", "has", "ownKeys", "getOwnPropertyDescriptor"])]: raise });
    case 6:
      return new Proxy(copy, { get: (of, name) => (name === key ? hit() : Reflect.get(of, name)) });
    case 7:
      return JSON.parse(`{"__proto__": ${random.pick(["1", "{}", "[1]", "null"])}, "x": 1}`);
    case 8:
      return Object.freeze(copy);
    case 9: {
      const circle: { [name: string]: unknown } = { ...copy };
      circle[key === "length" ? "own" : key] = circle;
      return circle;
    }
    case 10:
      return random.pick([[[]], [[], []], new Array(3), [1, [2]], [[1, 2], [3]], Object.assign([1, 2, 3], { length: 2 }), new Array(10_000)]);
    default:
      return { valueOf: hit, toString: hit, [Symbol.toPrimitive]: hit };
  }
}

/** Returns a value to replace a valid one. */
export function hostile(random: TestRandom, good: unknown, again: () => void): unknown {
  const dice = random.below(10);
  if (dice < 2) return random.pick(NUMBERS);
  if (dice < 3) return random.pick(OTHERS);
  if (dice < 4)
    return random.pick<unknown>([
      Symbol("s"),
      () => 1,
      new Date(0),
      /x/u,
      new Map([[1, 2]]),
      new Set([1]),
      Promise.resolve(1),
      Object(1),
      new (class Own {})(),
    ]);
  if (dice < 7) return typed(random);
  return structured(random, good, again);
}

/** Returns the same arguments with one hostile value anywhere in them. */
export function spoiled(random: TestRandom, value: unknown, again: () => void, depth = 0): unknown {
  const isNest = typeof value === "object" && value !== null && (Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype);
  const keys = isNest ? Object.keys(value as object) : [];
  if (keys.length === 0 || (depth > 0 && random.below(3) === 0)) return hostile(random, value, again);
  const key = random.pick(keys);
  const copy = (Array.isArray(value) ? [...value] : { ...(value as object) }) as { [name: string]: unknown };
  copy[key] = spoiled(random, copy[key], again, depth + 1);
  return copy;
}

/** Changes the arguments of a call after it has returned. */
export function changeLater(value: unknown, depth = 0): void {
  if (typeof value !== "object" || value === null || depth > 3) return;
  // Programs do not write class instances as arguments.
  if (!ArrayBuffer.isView(value) && ![Object.prototype, Array.prototype, null].includes(Object.getPrototypeOf(value))) return;
  try {
    if (ArrayBuffer.isView(value)) (value as Uint8Array).fill?.(1);
    else {
      for (const part of Object.values(value)) changeLater(part, depth + 1);
      if (Array.isArray(value)) value.push(9, 9);
      else for (const key of Object.keys(value)) (value as { [name: string]: unknown })[key] = 3;
    }
  } catch {
    // The value is frozen, or protected by a trap.
  }
}
