/** Defines a transition, as it is appended and as it is returned. */
import { mustBe } from "../base/error.ts";

export interface Transition {
  readonly state: unknown;
  readonly action: unknown;
  readonly reward: number;
  /** null if none was passed. */
  readonly nextState: unknown;
  readonly nextAction: unknown;
  readonly isStateTerminal: boolean;
  /** All other properties that were appended. */
  readonly [extra: string]: unknown;
}

export interface AppendedTransition {
  readonly state: unknown;
  readonly action: unknown;
  readonly reward: number;
  /** May be omitted or null if the state is terminal. */
  readonly nextState?: unknown;
  /** Omitted or null for learners that do not need it. */
  readonly nextAction?: unknown;
  /** Default: false */
  readonly isStateTerminal?: boolean;
  /** The environment of the step: any value. Each environment has its own running episode. Default: 0 */
  readonly envId?: unknown;
  readonly [extra: string]: unknown;
}

/** Returns the environment of a step. null is an environment like any other value. @throws TypeError */
export function envIdOf({ envId = 0 }: AppendedTransition): unknown {
  if (typeof envId === "object") checkEnvId(envId);
  return envId;
}

/** @throws TypeError for an array, which would be a different one in the next call */
export function checkEnvId(envId: unknown): void {
  if (Array.isArray(envId) || ArrayBuffer.isView(envId))
    throw mustBe(TypeError, "envId", "a value that is equal to itself at the next call, such as a number or a string", envId);
}

/** Returns whether a key is not an extra. */
export function isTransitionField(name: string): boolean {
  switch (name) {
    case "state":
    case "action":
    case "reward":
    case "nextState":
    case "nextAction":
    case "isStateTerminal":
    case "envId":
      return true;
    default:
      return false;
  }
}

/** Names in PFRL's documentation that differ here. As extras they would be ignored silently. */
export const RENAMED_KEYS: { readonly [name: string]: string } = {
  next_state: "nextState",
  next_action: "nextAction",
  is_state_terminal: "isStateTerminal",
  env_id: "envId",
};

/** Other names for the end of an episode. As extras, in place of `isStateTerminal`, they would be ignored silently. */
const END_KEYS: readonly string[] = ["done", "terminated", "terminal"];

const CALL_SHAPE = "the one object of append({ state, action, reward, nextState, isStateTerminal, … })";

/** @throws TypeError if the value is not an object */
export function checkTransition(transition: AppendedTransition): void {
  if (typeof transition !== "object" || transition === null) throw mustBe(TypeError, "transition", CALL_SHAPE, transition);
}

/** @throws TypeError if the state or the action is missing */
export function checkGiven(name: string, value: unknown): void {
  if (value === undefined) throw mustBe(TypeError, name, `given in ${CALL_SHAPE}`, undefined);
}

/** @throws TypeError if an extra is the end of an episode under another name */
export function checkEnd(name: string, value: unknown, { isStateTerminal }: AppendedTransition): void {
  if (isStateTerminal === undefined && END_KEYS.includes(name)) throw mustBe(TypeError, name, "given as isStateTerminal (or beside it, as an extra)", value);
}

/** @throws TypeError if the name of an extra differs here, or is not possible in an object */
export function checkExtra(name: string, value: unknown): void {
  if (Object.hasOwn(RENAMED_KEYS, name)) throw mustBe(TypeError, name, `written ${RENAMED_KEYS[name]}`, value);
  if (name === "__proto__") throw mustBe(TypeError, "__proto__", "renamed, because it cannot be an extra", value);
}

/** Returns the extras of an appended transition: its own properties. */
export function extrasOf(transition: AppendedTransition): { [name: string]: unknown } {
  const extras: { [name: string]: unknown } = {};
  for (const name of Object.keys(transition)) {
    const value = transition[name];
    if (isTransitionField(name) || value === undefined) continue;
    checkExtra(name, value);
    checkEnd(name, value, transition);
    extras[name] = value;
  }
  return extras;
}

/** Returns an appended transition in the form in which it would be returned. */
export function asStored(transition: AppendedTransition): Transition {
  const { state, action, reward, nextState = null, nextAction = null, isStateTerminal = false } = transition;
  return { state, action, reward, nextState, nextAction, isStateTerminal, ...extrasOf(transition) };
}
