/** Defines the options and the results of all file writers. */
import { mustBe } from "../../../base/error.ts";
import { isDtype } from "../../../schema/dtype.ts";
import { isLeaf, isText } from "../../../schema/leaf.ts";
import type { MaybeAsyncIterable, RldsDataset, RldsEpisode, StepSpec } from "../../model/dataset.ts";
import { checkIterable } from "../../model/maybe-async.ts";
import { RldsError } from "../../model/rlds-error.ts";
import { StepColumns } from "../../model/step-columns.ts";
import { stepSpecOf } from "../../model/step-spec.ts";
import type { About } from "../about.ts";
import type { Loss } from "./losses.ts";

/** The numbers of episodes, steps and bytes that were written so far. */
export interface WriteProgress {
  readonly episodes: number;
  readonly steps: number;
  readonly bytes: number;
}

export interface WriteOptions {
  readonly signal?: AbortSignal;
  /** Called after each episode. */
  readonly onProgress?: (progress: WriteProgress) => void;
  /** Whether to replace an existing dataset. Default: false, so the call throws `IO` if a dataset exists. */
  readonly overwrite?: boolean;
  /** The metadata of the dataset: a JSON object, which readers return as `about`. */
  readonly about?: About;
  /** Whether to throw, and write nothing, if the format cannot store a part of the data. Default: false, so the report lists the losses. */
  readonly strict?: boolean;
}

export interface WriteReport extends WriteProgress {
  /** The paths of the files in the sink. */
  readonly files: readonly string[];
  /** The number of episodes that end with a transition, in a format that requires a final observation. Their last observation is repeated. */
  readonly repeated: number;
  /** The parts of the data that the format cannot store. */
  readonly losses: readonly Loss[];
}

/** A dataset with known specs. */
export interface ConformingDataset {
  readonly stepSpec: StepSpec;
  readonly metadataSpec: { readonly [name: string]: StepSpec };
  readonly episodes: AsyncIterable<RldsEpisode<unknown>>;
  /** Closes the iteration at any point. */
  close(): Promise<void>;
}

/**
 * Determines the specs of a dataset and returns its episodes, which can be iterated once. If the dataset does not declare its specs, the first step and the
 * metadata of the first episode determine them. Episodes without steps before the first step are buffered.
 * @throws RldsError EMPTY if no step determines the spec · SPEC_MISMATCH if the first step cannot determine the spec
 */
export async function withSchema(rlds: RldsDataset<unknown>, signal?: AbortSignal): Promise<ConformingDataset> {
  checkIterable("rlds", rlds);
  const source = episodesOf(rlds, signal);
  const pending: RldsEpisode<unknown>[] = [];
  const iterators: Iterator<unknown>[] = [];
  let { stepSpec, metadataSpec } = rlds;
  const episodes = async function* (): AsyncGenerator<RldsEpisode<unknown>, void> {
    while (pending.length > 0) yield pending.shift() as RldsEpisode<unknown>;
    yield* source;
  };
  const close = async () => {
    for (const iterator of iterators) await iterator.return?.();
    await source.return();
  };
  try {
    if (stepSpec !== undefined) checkSpec(stepSpec, "");
    if (metadataSpec !== undefined) checkSpec(metadataSpec as StepSpec, "the episode's metadata ");
    while (stepSpec === undefined || metadataSpec === undefined) {
      const next = await source.next();
      if (next.done) throw new RldsError("EMPTY", "the dataset has no steps from which to infer the spec. Set its stepSpec");
      const { steps, ...metadata } = next.value;
      // Numbers are f64, because an id may exceed the exact range of f32.
      metadataSpec ??= stepSpecOf(metadata, { episode: pending.length }, "f64") as { readonly [name: string]: StepSpec };
      if (stepSpec === undefined) {
        const { first, all } = await peekFirst(steps, iterators);
        if (first !== undefined)
          stepSpec = first instanceof SpecHolder ? first.spec : (rlds.stepSpec ?? stepSpecOf(first, { episode: pending.length, step: 0 }));
        pending.push({ ...metadata, steps: all });
      } else pending.push(next.value);
    }
  } catch (error) {
    await close();
    throw error;
  }
  return { stepSpec, metadataSpec, episodes: episodes(), close };
}

/** The maximum number of lists without elements in a value. They take no bytes, but each of them must be written. */
const MAX_EMPTY_LISTS = 65_536;

/** Checks a spec that a dataset declares. @throws RldsError SPEC_MISMATCH · UNSUPPORTED for lengths that differ between episodes */
function checkSpec(spec: StepSpec, prefix: string, path = ""): void {
  const subject = `${prefix}${path || "step"}`;
  const specError = (name: string, rule: string, value: unknown) => new RldsError("SPEC_MISMATCH", mustBe(TypeError, name, rule, value).message);
  if (typeof spec !== "object" || spec === null) throw specError(subject, "a spec", spec);
  if (!isLeaf(spec)) {
    for (const [name, part] of Object.entries(spec)) checkSpec(part, prefix, path === "" ? name : `${path}/${name}`);
    return;
  }
  const { dtype, shape } = spec as { readonly dtype: string; readonly shape: unknown };
  if (!isDtype(dtype) && !isText(spec)) throw specError(`the dtype of ${subject}`, "a supported dtype", dtype);
  if (!Array.isArray(shape) || !shape.every((length) => Number.isSafeInteger(length) && length >= -1))
    throw specError(`the shape of ${subject}`, "an array of integers >= 0", shape);
  if (shape.includes(-1)) throw new RldsError("UNSUPPORTED", `${subject} must have a fixed shape, got [${shape.join(", ")}]. Leave it out with mapEpisodes`);
  const lists = shape.includes(0) ? shape.reduce((count, length) => count * Math.max(length, 1), 1) : 0;
  if (lists > MAX_EMPTY_LISTS)
    throw new RldsError(
      "UNSUPPORTED",
      `${subject} of shape [${shape.join(", ")}] would become ${lists} empty lists, more than the maximum of ${MAX_EMPTY_LISTS}`,
    );
}

/** Provides a spec that is known without reading the first step. */
class SpecHolder {
  readonly spec: StepSpec;

  constructor(spec: StepSpec) {
    this.spec = spec;
  }
}

/** Returns the first step, and an iterable of all steps including the first. */
async function peekFirst(
  steps: MaybeAsyncIterable<unknown>,
  iterators: Iterator<unknown>[],
): Promise<{ readonly first: unknown; readonly all: MaybeAsyncIterable<unknown> }> {
  if (steps instanceof StepColumns) return { first: steps.length === 0 ? undefined : new SpecHolder(steps.spec), all: steps };
  if (Array.isArray(steps)) return { first: steps[0], all: steps };
  const iterator = Symbol.asyncIterator in steps ? steps[Symbol.asyncIterator]() : steps[Symbol.iterator]();
  iterators.push(iterator as Iterator<unknown>);
  const first = await iterator.next();
  const all = (async function* () {
    try {
      for (let next = first; !next.done; next = await iterator.next()) yield next.value;
    } finally {
      await iterator.return?.();
    }
  })();
  return { first: first.done ? undefined : first.value, all };
}

function isIterable(value: unknown): boolean {
  return typeof value === "object" && value !== null && (Symbol.iterator in value || Symbol.asyncIterator in value);
}

async function* episodesOf(rlds: RldsDataset<unknown>, signal?: AbortSignal): AsyncGenerator<RldsEpisode<unknown>, void> {
  let episode = 0;
  for await (const value of rlds as AsyncIterable<RldsEpisode<unknown>>) {
    signal?.throwIfAborted();
    if (typeof value !== "object" || value === null || !isIterable(value.steps))
      throw new RldsError("SPEC_MISMATCH", mustBe(TypeError, "episode", "an object with steps", value).message, { episode });
    yield value;
    episode++;
  }
  signal?.throwIfAborted();
}
