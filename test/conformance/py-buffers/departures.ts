/** Defines the rules for answers that differ from the recorded ones (POLICY.md, "Python's buffers"). A model of the buffer computes our answers. */
import { isObject, type Op, type Result } from "../case.ts";

export interface Ruled {
  readonly rule: string;
  /** `{ any: true }` accepts any answer. */
  readonly result: Result;
}

type Args = Op[1];

/** A model of the buffer: a list of its items, from the oldest to the newest. */
export class Listed {
  readonly #capacity: number;
  readonly #spec: unknown;
  #items: unknown[] = [];
  #added = 0;
  /** Whether a batch of several items was added, which the recorded buffer does not support. */
  #several = false;

  constructor(capacity: number, spec: unknown) {
    this.#capacity = capacity;
    this.#spec = spec;
  }

  /** Returns our answer to an op if a rule changes the recorded one, else undefined. Applies the changes that the op makes. */
  ruled([kind, args]: Op, recorded: Result): Ruled | undefined {
    const error = isObject(recorded.error) ? recorded.error : undefined;
    switch (kind) {
      case "add_batch":
        return this.#add(args, error);
      case "clear":
        this.#items = [];
        this.#added = 0;
        return undefined;
      case "size":
        return this.#several ? { rule: "a batch of several is added", result: { value: this.#items.length } } : undefined;
      case "frames":
        return this.#several ? { rule: "a batch of several is added", result: { value: this.#frames() } } : undefined;
      case "num_frames":
        return { rule: "what is not implemented works", result: { value: this.#items.length } };
      case "gather_all":
        return this.#gathered(recorded);
      case "get_next":
      case "outcomes":
        return this.#drawn(args, error);
      case "dataset":
        return this.#passed(args, recorded, error);
      default:
        return undefined;
    }
  }

  #add({ items }: Args, error: Result | undefined): Ruled | undefined {
    if (error !== undefined && error.type !== "NotImplementedError") return undefined;
    const batch = rows(this.#spec, items);
    this.#several ||= batch.length > 1;
    this.#added += batch.length;
    this.#items = [...this.#items, ...batch].slice(-this.#capacity);
    return error === undefined ? undefined : { rule: "a batch of several is added", result: {} };
  }

  /** Returns the number of distinct frames in the observations, whose last dimension is the index of a frame. */
  #frames(): number {
    const seen = new Set<string>();
    for (const { observation } of this.#items as { readonly observation: unknown }[])
      for (let k = 0; k < lastOf(observation); k++) seen.add(JSON.stringify(frame(observation, k)));
    return seen.size;
  }

  /** Returns all items in the order of the recorded buffer's slots, or undefined if the recorded answer is expected. */
  #gathered(recorded: Result): Ruled | undefined {
    const isFull = this.#items.length === this.#capacity;
    if (isFull && recorded.error === undefined && !this.#several) return undefined;
    const behind = this.#added > this.#capacity ? this.#added % this.#capacity : 0;
    const turned = [...this.#items.slice(this.#items.length - behind), ...this.#items.slice(0, this.#items.length - behind)];
    return { rule: "gatherAll gives what is stored and nothing else", result: { data: gathered(this.#spec, turned) } };
  }

  #drawn({ args }: Args, error: Result | undefined): Ruled | undefined {
    const steps = isObject(args) && typeof args.num_steps === "number" ? args.num_steps : 1;
    if (steps >= 1 && this.#items.length === 0) return { rule: "an empty buffer is EMPTY", result: { error: { kind: "EMPTY" } } };
    if (error !== undefined && steps > this.#items.length)
      return { rule: "asking for more steps than there are is another error than asking an empty buffer", result: { error: { kind: "TOO_FEW" } } };
    return undefined;
  }

  #passed({ args, take }: Args, recorded: Result, error: Result | undefined): Ruled | undefined {
    const asked = isObject(args) ? args : {};
    const drawn = this.#drawn({ args }, error);
    if (error?.type !== "NotImplementedError") return drawn;
    if (drawn !== undefined) return drawn;
    const rule = "what is not implemented works";
    const { sample_batch_size: batch, num_steps: steps } = asked;
    if (asked.single_deterministic_pass !== true || asked.sequence_preprocess_fn !== undefined || batch != null || steps != null)
      return { rule, result: { any: true } };
    return { rule, result: { ...recorded, error: undefined, elements: this.#items.slice(0, take as number) } };
  }
}

/** Returns the size of the last dimension of nested numbers. */
function lastOf(value: unknown): number {
  let part = value as readonly unknown[];
  while (Array.isArray(part[0])) part = part[0];
  return part.length;
}

function frame(value: unknown, k: number): unknown {
  const parts = value as readonly unknown[];
  return Array.isArray(parts[0]) ? parts.map((part) => frame(part, k)) : parts[k];
}

/** Converts a batch, whose leaves are lists of rows, to a list of items. */
function rows(spec: unknown, items: unknown): unknown[] {
  if (isObject(spec) && typeof spec.dtype === "string") return Array.isArray(items) ? items : [items];
  const parts = Object.entries(spec as object).map(([key, part]) => [key, rows(part, (items as { [key: string]: unknown })[key])] as const);
  const [longest = []] = parts.map(([, part]) => part).sort((a, b) => b.length - a.length);
  return longest.map((_, i) => {
    const item = parts.map(([key, part]) => [key, part[i] ?? []] as const);
    return Array.isArray(spec) ? item.map(([, part]) => part) : Object.fromEntries(item);
  });
}

/** Converts a list of items to the form that gatherAll returns: each leaf has the shape [1, number of items, …]. */
function gathered(spec: unknown, items: readonly unknown[]): unknown {
  if (isObject(spec) && typeof spec.dtype === "string") return [items];
  const parts = Object.entries(spec as object).map(([key, part]) => {
    const own = items.map((item) => (item as { readonly [key: string]: unknown })[key]);
    return [key, gathered(part, own)] as const;
  });
  return Array.isArray(spec) ? parts.map(([, part]) => part) : Object.fromEntries(parts);
}
