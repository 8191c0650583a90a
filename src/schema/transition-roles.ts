/** Which leaf plays which part in a transition: said once, in `new Replay`, for rules of n steps and for views of transitions. */
import { didYouMean, mustBe, mustBeOneOf, oneOfRule, onlyKeys, ReplayError, show } from "../base/error.ts";
import type { PlacedLeaf } from "./layout.ts";
import { isText, leafText } from "./leaf.ts";

/** Dotted paths of leaves; `observation` and `action` may name a subtree. What is left out is the leaf or subtree that has the part's own name, if there is one. */
export interface TransitionRoles {
  /** What the agent saw before the step. */
  readonly observation?: string;
  readonly action?: string;
  /** One number a step or several, which came of the action. */
  readonly reward?: string;
  /** A factor beside gamma, which came with the reward: 0 where nothing counts any more. */
  readonly discount?: string;
  /** Not 0 where the episode terminated with this step, as the mark of `endEpisode` says it too. */
  readonly terminated?: string;
}

export type TransitionRole = keyof TransitionRoles;

export const ROLES: readonly TransitionRole[] = ["observation", "action", "reward", "discount", "terminated"];
const KINDS: { readonly [R in TransitionRole]?: string } = {
  reward: "a leaf of numbers, not bool, text or shared",
  discount: "a leaf of factors, one per step, not bool (name a flag that ends as terminated), text or shared",
  terminated: "a leaf with one number or bool per step, not text or shared",
};

export class Roles {
  readonly #leaves: readonly PlacedLeaf[];
  readonly #paths: TransitionRoles;

  /** @throws TypeError, ReplayError NOT_FOUND, SPEC_MISMATCH for what was said and does not fit; what was left out is asked for where it is used */
  constructor(leaves: readonly PlacedLeaf[], paths: TransitionRoles = {}) {
    onlyKeys("transition", paths, ROLES.join(", "));
    this.#leaves = leaves;
    this.#paths = Object.fromEntries(ROLES.map((role) => [role, paths[role] ?? role]));
    for (const role of ROLES) {
      const path = paths[role];
      if (path === undefined) continue;
      if (typeof path !== "string" || this.leaves(role).length === 0)
        throw mustBeOneOf("NOT_FOUND", `transition.${role}`, this.#names(KINDS[role] === undefined), path);
      this.optional(role);
    }
  }

  /** Where it is in a step. */
  path(role: TransitionRole): string {
    return this.#paths[role] as string;
  }

  /** The leaf in this role, or those of its subtree, in order; none where there is none. */
  leaves(role: TransitionRole): readonly PlacedLeaf[] {
    const path = this.path(role);
    return this.#leaves.filter((leaf) => leaf.path === path || leaf.path.startsWith(`${path}.`));
  }

  /** The leaves that there must be. @param caller who asks, as messages call it @throws ReplayError NOT_FOUND */
  required(role: TransitionRole, caller: string): readonly PlacedLeaf[] {
    const found = this.leaves(role);
    if (found.length > 0) return found;
    const names = this.#names(KINDS[role] === undefined);
    throw new ReplayError(
      "NOT_FOUND",
      `${caller} needs the ${role}, and spec has no leaf ${show(role)}.${didYouMean(role, names)} Name ${oneOfRule(names)} in new Replay({ transition: { ${role} } })`,
    );
  }

  /** The one leaf of a role that is a number a step, or of a reward one number or several; undefined where there is none. @throws ReplayError SPEC_MISMATCH where it is something else */
  optional(role: TransitionRole): PlacedLeaf | undefined {
    const rule = KINDS[role];
    const [leaf] = this.leaves(role);
    if (rule === undefined || leaf === undefined) return leaf;
    const { dtype, shared } = leaf.leaf;
    const isFitting = leaf.path === this.path(role) && (leaf.size === 1 || role === "reward") && shared === undefined && !isText(leaf.leaf);
    if (isFitting && (dtype !== "bool" || role === "terminated")) return leaf;
    const what = leaf.path === this.path(role) ? leafText(dtype, leaf.shape) : "a subtree";
    throw mustBe("SPEC_MISMATCH", `transition.${role}`, rule, `${this.path(role)}, ${what}`);
  }

  /** The leaf of the reward, which there must be: one number a step, or several. @throws ReplayError NOT_FOUND, SPEC_MISMATCH */
  rewards(caller: string): PlacedLeaf {
    this.required("reward", caller);
    return this.optional("reward") as PlacedLeaf;
  }

  /** What can be named: leaves, and the subtrees that hold them. */
  #names(subtrees: boolean): string[] {
    const names = new Set<string>();
    for (const { path, keys } of this.#leaves) {
      for (let n = 1; subtrees && n < keys.length; n++) names.add(keys.slice(0, n).join("."));
      names.add(path);
    }
    return [...names];
  }
}
