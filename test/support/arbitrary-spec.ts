/** Generates random specs and matching steps for fast-check. */

import fc from "fast-check";
import type { Spec } from "../../src/index.ts";
import { DTYPES, type Dtype } from "../../src/schema/dtype.ts";
import { isHalf, widenHalf } from "../../src/schema/half.ts";
import type { RowLeaf } from "../../src/schema/leaf.ts";
import { leavesOf } from "../../src/schema/spec.ts";
import { isWellFormed, utf8Bytes } from "../../src/schema/text.ts";
import { anyCharacter } from "./any-character.ts";

const dtypes = Object.keys(DTYPES) as Dtype[];
/** Keys, including keys whose textual order differs from their numeric order, and keys that are also keys of a leaf. */
const KEYS = ["a", "b", "Z", "10", "9", "shape", "dtype", "é", "long name"];

const shape = fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 3 });

/** Generates a leaf of up to 60 elements, or sometimes of 1 KiB or more. */
export const leaf: fc.Arbitrary<RowLeaf> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      dtype: fc.constantFrom(...dtypes),
      shape: fc.oneof({ weight: 12, arbitrary: shape }, { weight: 1, arbitrary: fc.constant([1100]) }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      dtype: fc.constant("string" as const),
      shape,
      maxBytes: fc.oneof({ weight: 6, arbitrary: fc.integer({ min: 1, max: 9 }) }, { weight: 1, arbitrary: fc.constant(1100) }),
    }),
  },
);

export const spec: fc.Arbitrary<Spec> = fc.letrec<{ node: Spec }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 3 },
    leaf,
    fc.array(tie("node"), { minLength: 1, maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...KEYS), tie("node"), { minKeys: 1, maxKeys: 4, noNullPrototype: true }),
  ),
})).node;

/** Generates an element that its dtype can hold, including unusual ones. */
export function element(dtype: Dtype): fc.Arbitrary<number | bigint> {
  const { min, max, big, float } = DTYPES[dtype];
  if (isHalf(dtype)) return fc.integer({ min: 0, max: 65535 }).map((bits) => widenHalf(dtype, bits));
  if (float) return dtype === "f32" ? fc.float() : fc.double();
  return big ? fc.bigInt({ min: min as bigint, max: max as bigint }) : fc.integer({ min: min as number, max: max as number });
}

/** Generates text of up to `maxBytes` bytes in UTF-8. */
export function texts(maxBytes: number): fc.Arbitrary<string> {
  const cut = (text: string): string => (isWellFormed(text) && utf8Bytes(text) <= maxBytes ? text : cut(text.slice(0, -1)));
  return fc.string({ unit: anyCharacter, maxLength: 12 }).map(cut);
}

/** The form of a value. */
export type Form = "typed" | "flat" | "nested";

/** The value of a leaf: its elements and their form. */
export interface LeafValue {
  readonly elements: readonly (number | bigint | string)[];
  readonly form: Form;
}

/** Generates steps of a spec: for each step, one value per leaf. */
export function stepsOf(of: Spec, minSteps: number, maxSteps: number): fc.Arbitrary<LeafValue[][]> {
  const values = leavesOf(of).map(({ leaf: own, size }) =>
    fc.record({
      // Only the first elements of long values vary.
      elements: fc
        .array<number | bigint | string>(own.dtype === "string" ? texts(own.maxBytes) : element(own.dtype), {
          minLength: Math.min(size, 8),
          maxLength: Math.min(size, 8),
        })
        .map((few) => Array.from({ length: size }, (_, i) => few[i % few.length] as number | bigint | string)),
      form: fc.constantFrom<Form>("typed", "flat", "nested"),
    }),
  );
  return fc.array(fc.tuple(...values), { minLength: minSteps, maxLength: maxSteps });
}

/** Returns a value in the form that `append` must accept. */
export function given(dtype: RowLeaf["dtype"], shape: readonly number[], { elements, form }: LeafValue): unknown {
  if (shape.length === 0 && form !== "typed") return elements[0];
  if (form === "typed" && shape.length > 0 && dtype !== "string") {
    const typed = new DTYPES[dtype].array(elements.length);
    elements.forEach((one, i) => {
      typed[i] = one as number;
    });
    return typed;
  }
  return form === "nested" ? nest(elements, shape) : shape.length === 0 ? elements[0] : elements;
}

function nest(elements: readonly unknown[], shape: readonly number[]): unknown {
  const [n, ...rest] = shape;
  if (n === undefined) return elements[0];
  const each = elements.length / n;
  return Array.from({ length: n }, (_, i) => nest(elements.slice(i * each, (i + 1) * each), rest));
}
