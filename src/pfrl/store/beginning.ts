/** The first calls of a buffer, as long as an extra of its first transition has only been null: with the first value that tells its form they are made again. */
import { isObject } from "../../schema/leaf.ts";
import { copyObject } from "../rows/object-value.ts";
import { infer, type WholeSpec } from "../rows/step-spec.ts";
import { type AppendedTransition, asStored, extrasOf } from "../transition.ts";

/** A step, or the end of an environment's episode. */
export type FirstCall = { readonly transition: AppendedTransition } | { readonly envId: unknown };

/** So many calls are kept. */
const MAX_CALLS = 1024;

export class Beginning {
  readonly calls: FirstCall[] = [];
  /** Extras that were always null. */
  readonly #undecided: Set<string>;

  private constructor(undecided: Set<string>) {
    this.#undecided = undecided;
  }

  /** Of a first transition; undefined where each of its extras has a value. */
  static of(transition: AppendedTransition): Beginning | undefined {
    const undecided = new Set(Object.entries(extrasOf(transition)).flatMap(([name, value]) => (value === null ? [name] : [])));
    return undecided.size === 0 ? undefined : new Beginning(undecided);
  }

  /** The spec with what a transition tells of extras that were always null; undefined where that is nothing. */
  told(spec: WholeSpec, transition: AppendedTransition): WholeSpec | undefined {
    const told = [...this.#undecided].flatMap((name) => {
      if (!has(transition, name) || !Object.hasOwn(spec.extras, name)) return [];
      const form = infer(transition[name], name);
      return isObject(form) ? [] : [[name, form] as const];
    });
    return told.length === 0 ? undefined : { ...spec, extras: { ...spec.extras, ...Object.fromEntries(told) } };
  }

  /** Notes a call that was made. Whether more are to be noted. @param max calls of which nothing that they stored has left */
  note(call: FirstCall, max: number): boolean {
    if (!("envId" in call)) for (const name of [...this.#undecided]) if (has(call.transition, name)) this.#undecided.delete(name);
    if (this.#undecided.size === 0 || this.calls.length >= Math.min(max, MAX_CALLS)) return false;
    try {
      // A program may use its arrays again.
      if ("envId" in call) this.calls.push(call);
      else this.calls.push({ transition: { ...(copyObject(asStored(call.transition)) as AppendedTransition), envId: call.transition.envId } });
      return true;
    } catch {
      return false;
    }
  }
}

function has(transition: AppendedTransition, name: string): boolean {
  return Object.hasOwn(transition, name) && (transition[name] ?? null) !== null;
}
