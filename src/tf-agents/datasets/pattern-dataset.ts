/** Applies patterns to a stream of steps and yields the items, like a structured writer without a table. Corresponds to `PatternDataset` of Reverb. */

import { flag, mustBe, onlyKeys } from "../../base/error.ts";
import { hideFrames } from "../../base/stack-trace.ts";
import type { Column } from "../../schema/column.ts";
import { flattenPartial, zip } from "../../schema/nest.ts";
import { type FoundLeaf, leavesOf, type Spec } from "../../schema/spec.ts";
import { type CompiledConfig, compileConfig } from "../patterns/compile-config.ts";
import { type Config, mustBeConfigs } from "../patterns/config.ts";
import { Matcher } from "../patterns/matcher.ts";
import { nodesOf, type Pattern, PatternNode } from "../patterns/pattern.ts";
import type { Signature } from "../signature.ts";
import { inferSignature } from "../writers/infer-signature.ts";
import { iterate, readableOf } from "./readable.ts";
import { RecentSteps } from "./recent-steps.ts";

export interface PatternDatasetOptions<Step = unknown> {
  /** Whether items that would span two episodes are left out. */
  readonly respectEpisodeBoundaries: boolean;
  /** Returns whether the episode ends with this step. */
  readonly isEndOfEpisode: (step: Step) => boolean;
}

/** A source of steps. Each step is nested like the spec of the configs, with null for a missing value. */
export type StepSource<Step = unknown> = Iterable<Step> | AsyncIterable<Step> | ReadableStream<Step>;

/** A pattern in which a column replaces each node. */
export type TrajectoryOf<P> =
  // biome-ignore lint/suspicious/noExplicitAny: of any pattern, any column can be named
  Pattern extends P ? any : P extends PatternNode ? Column : P extends Pattern ? { readonly [K in keyof P]: TrajectoryOf<P[K]> } : never;

/**
 * A dataset of the items that patterns select from steps. Use `for await (const item of dataset)`, `for (const item of dataset)` if the steps are synchronous,
 * or `dataset.stream()`. Each iteration restarts the steps, if the source allows it. Items own their memory. As in Reverb, a config is not applied
 * until there are enough steps for its pattern and for the patterns of all configs before it in the list. Costs O(bytes) per item.
 */
export class PatternDataset<P extends Pattern = Pattern, Step = unknown> implements AsyncIterable<TrajectoryOf<P>> {
  readonly #steps: Iterable<Step> | AsyncIterable<Step>;
  readonly #spec: Spec;
  readonly #leaves: readonly FoundLeaf[];
  readonly #configs: readonly CompiledConfig[];
  readonly #options: PatternDatasetOptions<Step>;
  /** The signature of each item, as a nest like the item. */
  readonly elementSpec: Signature;

  /**
   * Creates a dataset of patterns over steps.
   * @param steps an iterable, an async iterable or a ReadableStream
   * @throws TypeError, RangeError if the items of the configs differ in form, as in `inferSignature`
   * @throws ReplayError SPEC_MISMATCH if the configs were made from different specs
   */
  constructor(steps: StepSource<Step>, configs: readonly Config<P>[], options: PatternDatasetOptions<Step>) {
    hideFrames(new.target);
    const { respectEpisodeBoundaries, isEndOfEpisode } = onlyKeys("options", options, "respectEpisodeBoundaries, isEndOfEpisode");
    this.#steps = iterate("steps", steps);
    mustBeConfigs(configs);
    flag("respectEpisodeBoundaries", respectEpisodeBoundaries);
    if (typeof isEndOfEpisode !== "function") throw mustBe(TypeError, "isEndOfEpisode", "a function of a step", isEndOfEpisode);
    const [first] = configs.flatMap(({ pattern }) => nodesOf(pattern));
    this.#spec = (first as { readonly node: PatternNode }).node.spec;
    this.#leaves = leavesOf(this.#spec);
    this.#configs = configs.map((config, i) => compileConfig(config, this.#leaves, `configs[${i}]`));
    this.elementSpec = inferSignature(configs, this.#spec);
    this.#options = { respectEpisodeBoundaries, isEndOfEpisode };
  }

  /**
   * Starts an iteration over the items.
   * @throws TypeError if the steps are asynchronous
   * @throws ReplayError SPEC_MISMATCH if a step does not match the spec
   * @throws ReplayError INVALID_DATA if a value does not fit its dtype
   */
  *[Symbol.iterator](): Generator<TrajectoryOf<P>, void, undefined> {
    const steps = this.#steps;
    if (!(Symbol.iterator in steps)) throw mustBe(TypeError, "steps", ["a synchronous iterable for a for loop", "Use for await with an async iterable"], steps);
    const traversal = new StepTraversal(this.#spec, this.#leaves, this.#configs, this.#options);
    for (const step of steps) yield* traversal.items(step) as Iterable<TrajectoryOf<P>>;
  }

  /**
   * Starts an asynchronous iteration over the items.
   * @throws ReplayError SPEC_MISMATCH if a step does not match the spec
   * @throws ReplayError INVALID_DATA if a value does not fit its dtype
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<TrajectoryOf<P>, void, undefined> {
    const traversal = new StepTraversal(this.#spec, this.#leaves, this.#configs, this.#options);
    for await (const step of this.#steps) yield* traversal.items(step) as Iterable<TrajectoryOf<P>>;
  }

  /** Returns a web stream of the items. Each item is created when it is read. */
  stream(): ReadableStream<TrajectoryOf<P>> {
    return readableOf(this);
  }
}

/** The info of a sample that does not come from a table. All its values are zeros. */
export interface NoInfo {
  readonly key: 0;
  readonly probability: 0;
  readonly tableSize: 0;
  readonly priority: 0;
  readonly timesSampled: 0;
}

const NO_INFO: NoInfo = Object.freeze({ key: 0, probability: 0, tableSize: 0, priority: 0, timesSampled: 0 });

/**
 * Returns the elements in the form of a table's samples: `{ info, data }`, with an info of zeros. Corresponds to `pattern_dataset_with_info` of Reverb.
 * @throws the errors of `new PatternDataset`
 */
export function patternDatasetWithInfo<P extends Pattern, Step>(
  steps: StepSource<Step>,
  configs: readonly Config<P>[],
  options: PatternDatasetOptions<Step>,
): WithInfo<TrajectoryOf<P>> {
  return new WithInfo(new PatternDataset(steps, configs, options));
}

export interface InfoAndData<T> {
  readonly info: NoInfo;
  readonly data: T;
}

interface Elements<T> extends Iterable<T>, AsyncIterable<T> {
  readonly elementSpec: Signature;
}

export class WithInfo<T> implements AsyncIterable<InfoAndData<T>> {
  readonly #data: Elements<T>;

  /** Called by `patternDatasetWithInfo`. */
  constructor(data: Elements<T>) {
    this.#data = data;
  }

  get elementSpec(): { readonly info: { readonly [K in keyof NoInfo]: "number" }; readonly data: Signature } {
    return { info: { key: "number", probability: "number", tableSize: "number", priority: "number", timesSampled: "number" }, data: this.#data.elementSpec };
  }

  *[Symbol.iterator](): Generator<InfoAndData<T>, void, undefined> {
    for (const data of this.#data) yield { info: NO_INFO, data };
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<InfoAndData<T>, void, undefined> {
    for await (const data of this.#data) yield { info: NO_INFO, data };
  }

  stream(): ReadableStream<InfoAndData<T>> {
    return readableOf(this);
  }
}

/** One traversal of the steps. */
class StepTraversal {
  readonly #spec: Spec;
  readonly #configs: readonly CompiledConfig[];
  readonly #options: PatternDatasetOptions<never>;
  readonly #matcher: Matcher;
  readonly #recent: RecentSteps;
  /** The index of the next step in its episode. */
  #index = 0;

  constructor(spec: Spec, leaves: readonly FoundLeaf[], configs: readonly CompiledConfig[], options: PatternDatasetOptions<never>) {
    this.#spec = spec;
    this.#configs = configs;
    this.#options = options;
    let longest = 0;
    const minSteps = configs.map(({ reach }) => {
      longest = Math.max(longest, reach);
      return longest;
    });
    this.#matcher = new Matcher(configs, minSteps);
    const nodes = configs.flatMap(({ nodes }) => nodes);
    this.#recent = new RecentSteps(leaves, nodes);
  }

  /** Returns the items that a step completes. */
  items(step: unknown): unknown[] {
    const { respectEpisodeBoundaries, isEndOfEpisode } = this.#options;
    const values = flattenPartial(this.#spec, step, "step").map((value) => value ?? undefined);
    const isEnd: unknown = isEndOfEpisode(step as never);
    if (typeof isEnd !== "boolean") throw mustBe(TypeError, "the result of isEndOfEpisode", "a boolean", isEnd);
    const matcher = this.#matcher;
    const matchCount = matcher.match(values, true, this.#index);
    this.#recent.add(values);
    matcher.push(values);
    this.#index++;
    const items = this.#createItems(matchCount);
    if (!isEnd) return items;
    items.push(...this.#createItems(matcher.end()));
    this.#index = 0;
    if (respectEpisodeBoundaries) matcher.clear();
    return items;
  }

  #createItems(matchCount: number): unknown[] {
    return Array.from(this.#matcher.matches.subarray(0, matchCount), (k) => {
      const { config, nodes } = this.#configs[k] as CompiledConfig;
      this.#matcher.markApplied(k);
      const columns = nodes.map((node) => this.#recent.column(node));
      const isEnd = (node: unknown) => node instanceof PatternNode;
      return zip([config.pattern], isEnd, (_, keys) => columns[nodes.findIndex((node) => node.keys.join(".") === keys.join("."))] as Column);
    });
  }
}
