/** Renames leaves in steps, in rules and columns, and in the roles of a transition. */
import { mustBe, oneOfRule } from "../../base/error.ts";
import type { PlacedLeaf } from "../../schema/layout.ts";
import { setPart, valueAt } from "../../schema/nest.ts";
import { ROLES, type TransitionRoles } from "../../schema/transition-roles.ts";

/** The new paths of leaves and subtrees, by old path. */
export interface Renames {
  readonly [path: string]: string;
}

/** Returns whether a leaf or a subtree of these leaves has this path. */
export function hasPath(leaves: readonly PlacedLeaf[], path: string): boolean {
  return leaves.some((leaf) => leaf.path === path || leaf.path.startsWith(`${path}.`));
}

function unknownPath(subject: string, owner: string, leaves: readonly PlacedLeaf[], value: unknown): Error {
  const paths = leaves.map(({ path }) => path);
  return mustBe("NOT_FOUND", subject, `a path of ${owner}, ${oneOfRule(paths)}`, value, paths);
}

export class LeafNames {
  readonly #renames: readonly (readonly [from: string, to: string])[];

  /** @throws ReplayError NOT_FOUND if the old or the new spec does not have a path */
  constructor(renames: Renames, before: readonly PlacedLeaf[], after: readonly PlacedLeaf[]) {
    this.#renames = Object.entries(renames);
    for (const [from, to] of this.#renames) {
      if (!hasPath(before, from)) throw unknownPath("each key of rename", "the saved spec", before, from);
      if (typeof to !== "string" || !hasPath(after, to)) throw unknownPath(`rename.${from}`, "the new spec", after, to);
    }
  }

  get areSame(): boolean {
    return this.#renames.length === 0;
  }

  /** Returns the new path of a leaf or subtree. */
  path(path: string): string {
    for (const [from, to] of this.#renames) if (path === from || path.startsWith(`${from}.`)) return to + path.slice(from.length);
    return path;
  }

  /** Renames the leaves of a step in place. The step must be the migration's own copy. */
  step(step: unknown): unknown {
    if (this.areSame) return step;
    const values = this.#renames.map(([from]) => valueAt(step, from.split(".")));
    for (const [from] of this.#renames) removePath(step as object, from.split("."));
    for (const [i, [, to]] of this.#renames.entries()) if (values[i] !== undefined) setPath(step as object, to.split("."), values[i]);
    return step;
  }

  /** Returns options with the new path of each `leaf`. */
  options(value: unknown): unknown {
    if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
    if (Array.isArray(value)) return value.map((part) => this.options(part));
    return Object.fromEntries(
      Object.entries(value).map(([key, part]) => [key, key === "leaf" && typeof part === "string" ? this.path(part) : this.options(part)]),
    );
  }

  /** Returns the roles of a transition with the new paths. A leaf that had its role because of its name keeps the role. */
  roles(roles: TransitionRoles | undefined, before: readonly PlacedLeaf[]): TransitionRoles | undefined {
    if (this.areSame) return roles;
    const changed: { [role: string]: string } = {};
    for (const role of ROLES) {
      const old = roles?.[role] ?? (hasPath(before, role) ? role : undefined);
      const path = old === undefined ? undefined : this.path(old);
      if (path !== undefined && (path !== role || (old === role && roles?.[role] !== undefined))) changed[role] = path;
    }
    return Object.keys(changed).length === 0 ? undefined : changed;
  }
}

/** Returns the path of every `leaf` in these options. */
export function leafPaths(value: unknown): readonly string[] {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return [];
  return Object.entries(value).flatMap(([key, part]) => (key === "leaf" && typeof part === "string" ? [part] : leafPaths(part)));
}

/** Removes the part at a path, and nodes that become empty. */
export function removePath(step: object, keys: readonly string[]): void {
  const [key, ...rest] = keys as [string, ...string[]];
  const part = (step as { [key: string]: unknown })[key];
  if (rest.length > 0 && typeof part === "object" && part !== null) removePath(part, rest);
  if (rest.length === 0 || (typeof part === "object" && part !== null && Object.keys(part).length === 0)) delete (step as { [key: string]: unknown })[key];
}

/** Sets the part at a path, and creates missing nodes. */
export function setPath(step: object, keys: readonly string[], value: unknown): void {
  const [key, ...rest] = keys as [string, ...string[]];
  if (rest.length === 0) {
    setPart(step, key, value);
    return;
  }
  const part = (step as { [key: string]: unknown })[key];
  const isNode = typeof part === "object" && part !== null && !ArrayBuffer.isView(part);
  if (!isNode) setPart(step, key, {});
  setPath((step as { [key: string]: object })[key] as object, rest, value);
}
