/** What every writer of files takes and tells. */
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

/** So much is written so far. */
export interface WriteProgress {
  readonly episodes: number;
  readonly steps: number;
  readonly bytes: number;
}

export interface WriteOptions {
  readonly signal?: AbortSignal;
  /** Called after each episode. */
  readonly onProgress?: (progress: WriteProgress) => void;
  /** Whether a dataset that is there is replaced; else it is an error. Default: false */
  readonly overwrite?: boolean;
  /** What the dataset says of itself, as `about` of a reader: an object of JSON, which readers return again. */
  readonly about?: About;
  /** Whether it is an error if the format cannot hold a part of the data. Nothing is written then. Default: false, and the report lists what is lost */
  readonly strict?: boolean;
}

export interface WriteReport extends WriteProgress {
  /** The paths of the files, in the sink. */
  readonly files: readonly string[];
  /** Episodes that end with a transition, in a format that needs a final observation: their last observation is there twice. */
  readonly repeated: number;
  /** What the format cannot hold of the data. */
  readonly losses: readonly Loss[];
}

/** A dataset whose form is known. */
export interface ConformingDataset {
  readonly stepSpec: StepSpec;
  readonly metadataSpec: { readonly [name: string]: StepSpec };
  readonly episodes: AsyncIterable<RldsEpisode<unknown>>;
  /** Lets go of the dataset, however far it was gone through. */
  close(): Promise<void>;
}

/**
 * The form of a dataset, and its episodes, which can be gone through once. Where it does not say its form, the first step tells, and the first episode's metadata;
 * episodes without steps before it wait.
 * @throws RldsError EMPTY where no step tells the form · SPEC_MISMATCH where the first one cannot
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
      // An id may be larger than what f32 holds exactly.
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

/** Lists without an element take no bytes, and each is written. */
const MAX_EMPTY_LISTS = 65_536;

/** What a dataset says of itself may be anything. @throws RldsError SPEC_MISMATCH · UNSUPPORTED for lengths that differ between episodes */
function checkSpec(spec: StepSpec, prefix: string, path = ""): void {
  const subject = `${prefix}${path || "step"}`;
  const specError = (rule: string, value: unknown) => new RldsError("SPEC_MISMATCH", mustBe(TypeError, subject, rule, value).message);
  if (typeof spec !== "object" || spec === null) throw specError("a spec", spec);
  if (!isLeaf(spec)) {
    for (const [name, part] of Object.entries(spec)) checkSpec(part, prefix, path === "" ? name : `${path}/${name}`);
    return;
  }
  const { dtype, shape } = spec as { readonly dtype: string; readonly shape: unknown };
  if (!isDtype(dtype) && !isText(spec)) throw specError("of a dtype that there is", dtype);
  if (!Array.isArray(shape) || !shape.every((length) => Number.isSafeInteger(length) && length >= -1)) throw specError("of a shape", shape);
  if (shape.includes(-1))
    throw new RldsError("UNSUPPORTED", `${subject} must have a shape of known lengths, got [${shape.join(", ")}]: mapEpisodes can leave it out`);
  const lists = shape.includes(0) ? shape.reduce((count, length) => count * Math.max(length, 1), 1) : 0;
  if (lists > MAX_EMPTY_LISTS)
    throw new RldsError(
      "UNSUPPORTED",
      `${subject} of shape [${shape.join(", ")}] would be ${lists} lists without an element: at most ${MAX_EMPTY_LISTS} can be written`,
    );
}

/** A spec that needs no first step. */
class SpecHolder {
  readonly spec: StepSpec;

  constructor(spec: StepSpec) {
    this.spec = spec;
  }
}

/** The first step, and all of them, that one again included. */
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
