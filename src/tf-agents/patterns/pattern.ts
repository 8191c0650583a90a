/** Defines the patterns of a structured writer's items. A pattern selects steps of fields, counted from the newest step. */
import { integer, mustBe } from "../../base/error.ts";
import { MAX_LENGTH } from "../../base/limits.ts";
import type { RowLeaf } from "../../schema/leaf.ts";
import { fold, type Nest, nested, pathText } from "../../schema/nest.ts";
import { checkLeaf, type FoundLeaf, type IsAny, type Spec } from "../../schema/spec.ts";

/** A leaf of a pattern, which selects some steps of one field. */
export class PatternNode {
  /** The spec from which the node was created. */
  readonly spec: Spec;
  readonly leaf: FoundLeaf;
  /** The index of the node's field among the leaves of the spec, sorted by their keys. */
  readonly flatSourceIndex: number;
  /** The first step, where -1 is the newest step. null if the node is the single step `stop`, without a time dimension. */
  readonly start: number | null;
  /** The end of the range, exclusive. If the value is null or 0, the range ends with the newest step. */
  readonly stop: number | null;
  readonly step: number | null;

  /** Called by the fields of a reference step. */
  constructor({ spec, leaf, flatSourceIndex }: Field, start: number | null, stop: number | null, step: number | null) {
    this.spec = spec;
    this.leaf = leaf;
    this.flatSourceIndex = flatSourceIndex;
    this.start = start;
    this.stop = stop;
    this.step = step;
    Object.freeze(this);
  }

  /** Whether the node is a single step. */
  get isSqueezed(): boolean {
    return this.start === null;
  }

  /** The ages of the steps, oldest first. The newest step has age 1. */
  get ages(): readonly number[] {
    const { start, stop, step } = this;
    if (start === null) return [-(stop as number)];
    const ages: number[] = [];
    for (let age = -start; age > -(stop ?? 0); age -= step ?? 1) ages.push(age);
    return ages;
  }
}

/** A field of a step, from which a pattern selects steps. Indices count from the newest step, which is -1. */
export interface Field {
  readonly spec: Spec;
  readonly leaf: FoundLeaf;
  readonly flatSourceIndex: number;
}

export class ReferenceField implements Field {
  readonly spec: Spec;
  readonly leaf: FoundLeaf;
  readonly flatSourceIndex: number;

  /** Called by `createReferenceStep`. */
  constructor(spec: Spec, leaf: FoundLeaf, flatSourceIndex: number) {
    this.spec = spec;
    this.leaf = leaf;
    this.flatSourceIndex = flatSourceIndex;
    Object.freeze(this);
  }

  /**
   * Selects one step, without a time dimension. Corresponds to `ref[index]` in Python.
   * @throws TypeError, RangeError if the index is not a negative integer
   */
  at(index: number): PatternNode {
    return new PatternNode(this, null, integer(`the index of ${this.#name}`, index, -MAX_LENGTH, -1), null);
  }

  /**
   * Selects every `step`-th step from `start` up to, but not including, `stop`. Corresponds to `ref[start:stop:step]` in Python. If `stop` is omitted, the
   * newest step is the last one. If `start` is omitted, only the step `stop` is selected, as in Reverb.
   * @throws TypeError, RangeError if no step is selected, or if `step` is negative
   */
  slice(start?: number | null, stop?: number | null, step?: number | null): PatternNode {
    const name = this.#name;
    if (start === undefined || start === null) {
      if (stop === undefined || stop === null) throw mustBe(RangeError, `start of ${name}`, "a negative index, because stop is omitted", start);
      if (step !== undefined && step !== null) throw mustBe(RangeError, `step of ${name}`, "omitted, because start is omitted", step);
      return new PatternNode(this, null, integer(`stop of ${name}, without a start,`, stop, -MAX_LENGTH, -1), null);
    }
    integer(`start of ${name}`, start, -MAX_LENGTH, -1);
    if (stop !== undefined && stop !== null) {
      integer(`stop of ${name}`, stop, -MAX_LENGTH, 0);
      if (stop <= start) throw mustBe(RangeError, `stop of ${name}`, `greater than its start, ${start}`, stop);
    }
    if (step !== undefined && step !== null) integer(`step of ${name}`, step, 1, MAX_LENGTH);
    return new PatternNode(this, start, stop ?? null, step ?? null);
  }

  get #name(): string {
    return pathText(this.leaf.keys);
  }
}

/** The nodes of a pattern, nested like the items. */
export type Pattern = PatternNode | readonly Pattern[] | { readonly [name: string]: Pattern };

/** A step from which patterns are made: nested like the spec, with a field at each leaf. */
export type ReferenceStep<S> =
  // biome-ignore lint/suspicious/noExplicitAny: of any spec, any field can be named
  IsAny<S> extends true ? any : S extends RowLeaf ? ReferenceField : { readonly [K in keyof S]: ReferenceStep<S[K]> };

/** Applies `end` to each leaf of a spec, and returns the results nested like the spec. @throws TypeError, RangeError for an invalid spec */
export function mapFields(spec: Spec, end: (leaf: FoundLeaf, index: number) => unknown): unknown {
  return fold<RowLeaf, unknown>(
    spec,
    (index, keys, leaf) => end(checkLeaf(keys, leaf), index),
    (names, parts, _, list) => nested(names, parts, list),
  );
}

/** Creates a step from which patterns are made. Corresponds to `create_reference_step` of Reverb. @throws TypeError, RangeError if the spec is invalid */
export function createReferenceStep<const S extends Spec>(spec: S): ReferenceStep<S> {
  return mapFields(spec, (leaf, index) => new ReferenceField(spec, leaf, index)) as ReferenceStep<S>;
}

/**
 * Returns the pattern that a function creates from a reference step. Corresponds to `pattern_from_transform` of Reverb.
 * @throws TypeError, RangeError if the spec is invalid, or if a node has no steps
 */
export function patternFromTransform<const S extends Spec, P extends Pattern>(spec: S, transform: (step: ReferenceStep<S>) => P): P {
  if (typeof transform !== "function") throw mustBe(TypeError, "transform", "a function of a reference step", transform);
  return transform(createReferenceStep(spec));
}

/** Returns the nodes of a pattern, in order, with their paths. @throws TypeError for a leaf that is not a node */
export function nodesOf(pattern: Pattern): { readonly keys: readonly string[]; readonly node: PatternNode }[] {
  const nodes: { readonly keys: readonly string[]; readonly node: PatternNode }[] = [];
  const isEnd = (at: unknown) => typeof at !== "object" || at === null || at instanceof PatternNode || at instanceof ReferenceField;
  fold<PatternNode, void>(
    pattern as Nest<PatternNode>,
    (_, keys, node) => {
      if (!(node instanceof PatternNode))
        throw mustBe(TypeError, ["pattern", ...keys].join("."), "a part of a reference step, such as step.field.at(-1)", node);
      nodes.push({ keys, node });
    },
    () => {},
    isEnd,
  );
  return nodes;
}
