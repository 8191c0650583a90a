/**
 * Records the first calls to a buffer while an extra of its first transition has only been null. When the extra's first value that fits a column arrives, the
 * calls are replayed with that column.
 */
import { isObject } from "../../schema/leaf.ts";
import { copyObject } from "../rows/object-value.ts";
import { infer, type WholeSpec } from "../rows/step-spec.ts";
import { type AppendedTransition, asStored, extrasOf } from "../transition.ts";

/** A recorded call: a step, or the end of an environment's episode. */
export type FirstCall = { readonly transition: AppendedTransition } | { readonly envId: unknown };

/** The maximum number of recorded calls. */
const MAX_CALLS = 1024;

export class DeferredSchema {
  readonly calls: FirstCall[] = [];
  /** The extras that were always null. */
  readonly #unresolved: Set<string>;

  private constructor(unresolved: Set<string>) {
    this.#unresolved = unresolved;
  }

  /** Returns a record for a first transition; undefined if each of its extras has a value. */
  static of(transition: AppendedTransition): DeferredSchema | undefined {
    const unresolved = new Set(Object.entries(extrasOf(transition)).flatMap(([name, value]) => (value === null ? [name] : [])));
    return unresolved.size === 0 ? undefined : new DeferredSchema(unresolved);
  }

  /** Returns the spec with the extras whose form a transition determines; undefined if the transition determines no form. */
  resolve(spec: WholeSpec, transition: AppendedTransition): WholeSpec | undefined {
    const resolved = [...this.#unresolved].flatMap((name) => {
      if (!has(transition, name) || !Object.hasOwn(spec.extras, name)) return [];
      const schema = infer(transition[name], name);
      return isObject(schema) ? [] : [[name, schema] as const];
    });
    return resolved.length === 0 ? undefined : { ...spec, extras: { ...spec.extras, ...Object.fromEntries(resolved) } };
  }

  /** Records a call. Returns whether more calls may be recorded. @param max the number of calls up to which no stored transition is evicted */
  record(call: FirstCall, max: number): boolean {
    if (!("envId" in call)) for (const name of [...this.#unresolved]) if (has(call.transition, name)) this.#unresolved.delete(name);
    if (this.#unresolved.size === 0 || this.calls.length >= Math.min(max, MAX_CALLS)) return false;
    try {
      // The caller may reuse its arrays, so copies are kept.
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
