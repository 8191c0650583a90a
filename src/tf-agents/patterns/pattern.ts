/** What the items of a structured writer are made of: steps of fields, counted from the newest one. Reverb's patterns. */
import { integer, mustBe } from "../../base/error.ts";
import { MAX_LENGTH } from "../../base/limits.ts";
import type { RowLeaf } from "../../schema/leaf.ts";
import { fold, type Nest, nested, pathText } from "../../schema/nest.ts";
import { checkLeaf, type FoundLeaf, type IsAny, type Spec } from "../../schema/spec.ts";

/** Some steps of one field: an end of a pattern. */
export class PatternNode {
  /** The spec that it was made of. */
  readonly spec: Spec;
  readonly leaf: FoundLeaf;
  /** Its place among the leaves of the spec, sorted by their keys. */
  readonly flatSourceIndex: number;
  /** -1 is the newest step; null: a single step, `stop`, without a dimension of time. */
  readonly start: number | null;
  /** The step behind the last one; null or 0: the last one is the newest. */
  readonly stop: number | null;
  readonly step: number | null;

  /** Made by a field of a reference step. */
  constructor({ spec, leaf, flatSourceIndex }: Field, start: number | null, stop: number | null, step: number | null) {
    this.spec = spec;
    this.leaf = leaf;
    this.flatSourceIndex = flatSourceIndex;
    this.start = start;
    this.stop = stop;
    this.step = step;
    Object.freeze(this);
  }

  /** Whether it is a single step. */
  get isSqueezed(): boolean {
    return this.start === null;
  }

  /** How far back its steps are, the oldest first: 1 is the newest. */
  get ages(): readonly number[] {
    const { start, stop, step } = this;
    if (start === null) return [-(stop as number)];
    const ages: number[] = [];
    for (let age = -start; age > -(stop ?? 0); age -= step ?? 1) ages.push(age);
    return ages;
  }
}

/** A field of a step, of which a pattern takes some. Indices count from the newest step, which is -1. */
export interface Field {
  readonly spec: Spec;
  readonly leaf: FoundLeaf;
  readonly flatSourceIndex: number;
}

export class ReferenceField implements Field {
  readonly spec: Spec;
  readonly leaf: FoundLeaf;
  readonly flatSourceIndex: number;

  /** Made by `createReferenceStep`. */
  constructor(spec: Spec, leaf: FoundLeaf, flatSourceIndex: number) {
    this.spec = spec;
    this.leaf = leaf;
    this.flatSourceIndex = flatSourceIndex;
    Object.freeze(this);
  }

  /** One step, without a dimension of time: Python's `ref[index]`. @throws TypeError, RangeError for an index of 0 or above */
  at(index: number): PatternNode {
    return new PatternNode(this, null, integer(`the index of ${this.#name}`, index, -MAX_LENGTH, -1), null);
  }

  /**
   * From `start` to before `stop`, every `step`-th: Python's `ref[start:stop:step]`. Without `stop`, up to the newest one. Without `start`, the single step `stop`, as there.
   * @throws TypeError, RangeError for what names no step, or steps backwards
   */
  slice(start?: number | null, stop?: number | null, step?: number | null): PatternNode {
    const name = this.#name;
    if (start === undefined || start === null) {
      if (stop === undefined || stop === null) throw mustBe(RangeError, `start of ${name}`, "a negative index, because there is no stop", start);
      if (step !== undefined && step !== null) throw mustBe(RangeError, `step of ${name}`, "left out, because there is no start", step);
      return new PatternNode(this, null, integer(`stop of ${name}, without a start,`, stop, -MAX_LENGTH, -1), null);
    }
    integer(`start of ${name}`, start, -MAX_LENGTH, -1);
    if (stop !== undefined && stop !== null) {
      integer(`stop of ${name}`, stop, -MAX_LENGTH, 0);
      if (stop <= start) throw mustBe(RangeError, `stop of ${name}`, `more than its start, ${start}`, stop);
    }
    if (step !== undefined && step !== null) integer(`step of ${name}`, step, 1, MAX_LENGTH);
    return new PatternNode(this, start, stop ?? null, step ?? null);
  }

  get #name(): string {
    return pathText(this.leaf.keys);
  }
}

/** Nodes, nested as the items are to be. */
export type Pattern = PatternNode | readonly Pattern[] | { readonly [name: string]: Pattern };

/** A step of which patterns are made: nested as the spec, with a field at each leaf. */
export type ReferenceStep<S> =
  // biome-ignore lint/suspicious/noExplicitAny: of any spec, any field can be named
  IsAny<S> extends true ? any : S extends RowLeaf ? ReferenceField : { readonly [K in keyof S]: ReferenceStep<S[K]> };

/** What `end` makes of each leaf of a spec, nested as that. @throws TypeError, RangeError for what is no spec */
export function mapFields(spec: Spec, end: (leaf: FoundLeaf, index: number) => unknown): unknown {
  return fold<RowLeaf, unknown>(
    spec,
    (index, keys, leaf) => end(checkLeaf(keys, leaf), index),
    (names, parts, _, list) => nested(names, parts, list),
  );
}

/** A step of which patterns are made. Reverb's `create_reference_step`. @throws TypeError, RangeError for what is no spec */
export function createReferenceStep<const S extends Spec>(spec: S): ReferenceStep<S> {
  return mapFields(spec, (leaf, index) => new ReferenceField(spec, leaf, index)) as ReferenceStep<S>;
}

/**
 * The pattern that a function makes of a reference step. Reverb's `pattern_from_transform`.
 * @throws TypeError, RangeError for what is no spec, or a node of no steps
 */
export function patternFromTransform<const S extends Spec, P extends Pattern>(spec: S, transform: (step: ReferenceStep<S>) => P): P {
  if (typeof transform !== "function") throw mustBe(TypeError, "transform", "a function of a reference step", transform);
  return transform(createReferenceStep(spec));
}

/** The ends of a pattern, in order, with their paths. @throws TypeError for another end */
export function nodesOf(pattern: Pattern): { readonly keys: readonly string[]; readonly node: PatternNode }[] {
  const nodes: { readonly keys: readonly string[]; readonly node: PatternNode }[] = [];
  const isEnd = (at: unknown) => typeof at !== "object" || at === null || at instanceof PatternNode || at instanceof ReferenceField;
  fold<PatternNode, void>(
    pattern as Nest<PatternNode>,
    (_, keys, node) => {
      if (!(node instanceof PatternNode)) throw mustBe(TypeError, ["pattern", ...keys].join("."), "made of a reference step, as step.field.at(-1)", node);
      nodes.push({ keys, node });
    },
    () => {},
    isEnd,
  );
  return nodes;
}
