/** Maps leaves to roles in a transition. `new Replay` sets the mapping once, for n-step rules and transition views. */
import { described, didYouMean, mustBe, mustBeOneOf, oneOfRule, onlyKeys, ReplayError, type Rule, show } from "../base/error.ts";
import type { PlacedLeaf } from "./layout.ts";
import { isText, leafText } from "./leaf.ts";

/**
 * The dotted paths of leaves by role. `observation` and `action` may name a subtree. Default: the leaf or subtree with the name of the role, if the spec has
 * it.
 */
export interface TransitionRoles {
  /** The observation before the step. */
  readonly observation?: string;
  readonly action?: string;
  /** The reward of the action: one number per step, or several. */
  readonly reward?: string;
  /** The factor for later rewards, in addition to gamma. It belongs to the step of the reward, and is 0 at the end of a terminated episode. */
  readonly discount?: string;
  /** The terminal flag: not 0 if the episode terminated with this step. `endEpisode` can also mark the terminal step. */
  readonly terminated?: string;
}

export type TransitionRole = keyof TransitionRoles;

export const ROLES: readonly TransitionRole[] = ["observation", "action", "reward", "discount", "terminated"];
const KINDS: { readonly [R in TransitionRole]?: Rule } = {
  reward: "an unshared numeric leaf, not bool or text",
  discount: ["an unshared leaf with one number per step, not bool or text", "Pass a terminal flag as terminated"],
  terminated: "an unshared leaf with one number or bool per step, not text",
};

export class Roles {
  readonly #leaves: readonly PlacedLeaf[];
  readonly #paths: TransitionRoles;

  /** @throws TypeError, ReplayError NOT_FOUND, SPEC_MISMATCH if a path does not fit. Roles without a path are checked when they are used */
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

  /** Returns the path of a role in a step. */
  path(role: TransitionRole): string {
    return this.#paths[role] as string;
  }

  /** Returns the leaf in this role, or the leaves of its subtree, in order. The list is empty if there are no leaves. */
  leaves(role: TransitionRole): readonly PlacedLeaf[] {
    const path = this.path(role);
    return this.#leaves.filter((leaf) => leaf.path === path || leaf.path.startsWith(`${path}.`));
  }

  /** Returns the leaves of a required role. @param caller the caller's name in messages @throws ReplayError NOT_FOUND if there are no leaves */
  required(role: TransitionRole, caller: string): readonly PlacedLeaf[] {
    const found = this.leaves(role);
    if (found.length > 0) return found;
    const names = this.#names(KINDS[role] === undefined);
    throw new ReplayError(
      "NOT_FOUND",
      `${caller} requires the ${role}, but spec has no leaf ${show(role)}.${didYouMean(role, names)} Map it to ${oneOfRule(names)} in new Replay({ transition: { ${role} } })`,
    );
  }

  /**
   * Returns the leaf of a reward, discount or terminal flag: one number per step, or several for a reward. For other roles, returns the first leaf without a
   * check. Undefined if there is no leaf. @throws ReplayError SPEC_MISMATCH if the leaf has another form
   */
  optional(role: TransitionRole): PlacedLeaf | undefined {
    const rule = KINDS[role];
    const [leaf] = this.leaves(role);
    if (rule === undefined || leaf === undefined) return leaf;
    const { dtype, shared } = leaf.leaf;
    const isFitting = leaf.path === this.path(role) && (leaf.size === 1 || role === "reward") && shared === undefined && !isText(leaf.leaf);
    if (isFitting && (dtype !== "bool" || role === "terminated")) return leaf;
    const what = leaf.path === this.path(role) ? leafText(dtype, leaf.shape) : "a subtree";
    throw mustBe("SPEC_MISMATCH", `transition.${role}`, rule, described(`${this.path(role)}, ${what}`));
  }

  /**
   * Returns the required leaf of the reward: one number per step, or several. @throws ReplayError NOT_FOUND if there is no leaf, SPEC_MISMATCH if the leaf has
   * another form
   */
  rewards(caller: string): PlacedLeaf {
    this.required("reward", caller);
    return this.optional("reward") as PlacedLeaf;
  }

  /** Returns the possible paths: the paths of leaves and, if `subtrees` is true, the paths of subtrees that contain leaves. */
  #names(subtrees: boolean): string[] {
    const names = new Set<string>();
    for (const { path, keys } of this.#leaves) {
      for (let n = 1; subtrees && n < keys.length; n++) names.add(keys.slice(0, n).join("."));
      names.add(path);
    }
    return [...names];
  }
}
