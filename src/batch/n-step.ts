/** The options of an n-step return (Sutton and Barto, 2018, section 7.1), and their encoding for the core. */
import { NONE, OWN } from "../base/abi.ts";
import { finite, integer, mustBe, oneOf, onlyKeys } from "../base/error.ts";
import { MAX_LENGTH } from "../base/limits.ts";
import { leafAt } from "../schema/columns.ts";
import type { PlacedLeaf } from "../schema/layout.ts";
import { isText } from "../schema/leaf.ts";

export interface NStepOptions<Path extends string = string> {
  /** Number of rewards in a full return. */
  readonly n: number;
  readonly gamma: number;
  /** The path of the reward leaf. */
  readonly reward: Path;
  /** The path of the leaf of discounts (0 = terminal), or of terminal flags. Set at most one of the two. */
  readonly discount?: Path;
  readonly terminal?: Path;
  /** Where the observation after a step is: in the following step (default), or in a leaf of the step itself. */
  readonly nextState?: "following" | "own";
}

/** The arguments of draw_n_step: numbers of leaves, or NONE; n, gamma, flags. */
export interface NStep {
  readonly reward: number;
  readonly discount: number;
  readonly terminated: number;
  readonly n: number;
  readonly gamma: number;
  readonly flags: number;
}

export function nStepOf(options: NStepOptions, leaves: readonly PlacedLeaf[]): NStep {
  const { n, gamma, reward, discount, terminal, nextState = "following" } = onlyKeys("nStep", options, "n, gamma, reward, discount, terminal, nextState");
  if (discount !== undefined && terminal !== undefined) throw mustBe(RangeError, "nStep", "an object with discount or terminal, but not both", options);
  const leaf = (role: string, path: string | undefined) => {
    const found = leafAt(`nStep.${role}`, leaves, path);
    if (found.size === 1 && found.leaf.shared === undefined && !isText(found.leaf)) return found.index;
    throw mustBe("SPEC_MISMATCH", `nStep.${role}`, "a leaf with one number per step, and not shared", path);
  };
  const factor = discount === undefined ? undefined : leafAt("nStep.discount", leaves, discount);
  if (factor?.leaf.dtype === "bool")
    throw mustBe("SPEC_MISMATCH", "nStep.discount", "a leaf of factors, of which 0 is terminal (give a flag that ends as nStep.terminal)", `${discount}, bool`);
  return {
    reward: leaf("reward", reward),
    discount: discount === undefined ? NONE : leaf("discount", discount),
    terminated: terminal === undefined ? NONE : leaf("terminal", terminal),
    n: integer("nStep.n", n, 1, MAX_LENGTH),
    gamma: finite("nStep.gamma", gamma),
    flags: oneOf("nStep.nextState", { following: 0, own: OWN }, nextState),
  };
}
