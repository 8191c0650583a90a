/** Steps that may leave fields out: taken apart leaf by leaf, and put together again. */
import type { Engine } from "../../core/engine.ts";
import { mustBe } from "../../error.ts";
import type { PlacedLeaf } from "../../spec/layout.ts";
import { pack } from "../../spec/nest.ts";
import type { Spec, StepOf } from "../../spec/spec.ts";

/** A step, or a part of it: fields left out, null and undefined are the same. */
export type PartOf<T> = T extends readonly unknown[] | ArrayBufferView
  ? T | null | undefined
  : T extends object
    ? { readonly [K in keyof T]?: PartOf<T[K]> } | null | undefined
    : T | null | undefined;

/** A value a leaf; undefined where it was left out. */
export type Values = readonly unknown[];

export class Fields<S extends Spec> {
  readonly leaves: readonly PlacedLeaf[];
  readonly #engine: Engine;
  readonly #zeros: unknown[] = [];

  constructor(engine: Engine) {
    this.#engine = engine;
    this.leaves = engine.layout.leaves;
  }

  /** @throws ReplayError SPEC_MISMATCH where a part is not nested as the spec, or has a name that the spec has not */
  take(step: unknown): Values {
    if (step === null || step === undefined) throw mustBe("SPEC_MISMATCH", "step", "nested as the spec", step);
    const values: unknown[] = [];
    visit(this.#engine.spec, step, "step", values);
    return values;
  }

  /** A whole step, with zeros where there is no value. */
  whole(values: Values): StepOf<S> {
    return pack(
      this.#engine.spec,
      values.map((value, leaf) => value ?? this.zeros(leaf)),
    ) as StepOf<S>;
  }

  /** Zeros of a leaf, or of so many steps of it. */
  zeros(leaf: number, steps?: number): unknown {
    const {
      size,
      leaf: { dtype },
    } = this.leaves[leaf] as PlacedLeaf;
    const array = this.#engine.core[dtype].constructor as new (length: number) => unknown;
    if (steps !== undefined) return new array(steps * size);
    this.#zeros[leaf] ??= new array(size);
    return this.#zeros[leaf];
  }
}

function visit(spec: Spec, value: unknown, path: string, values: unknown[]): void {
  const { dtype } = spec as { readonly dtype?: unknown };
  if (typeof dtype === "string") {
    values.push(value ?? undefined);
    return;
  }
  const nodes = spec as { readonly [name: string]: Spec };
  const names = Array.isArray(spec) ? Object.keys(spec) : Object.keys(spec).sort();
  const given = (value ?? {}) as { readonly [name: string]: unknown };
  if (typeof given !== "object" || Object.keys(given).some((name) => !Object.hasOwn(nodes, name)))
    throw mustBe("SPEC_MISMATCH", path, `nested with no keys but ${names.join(", ")}`, value);
  for (const name of names) visit(nodes[name] as Spec, Object.hasOwn(given, name) ? given[name] : undefined, `${path}.${name}`, values);
}
