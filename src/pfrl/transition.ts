/** Defines transitions in two forms: as a caller appends them, and as a buffer returns them. */
import { mustBe } from "../base/error.ts";

export interface Transition {
  readonly state: unknown;
  readonly action: unknown;
  readonly reward: number;
  /** The state after the action. null if none was appended. */
  readonly nextState: unknown;
  readonly nextAction: unknown;
  readonly isStateTerminal: boolean;
  /** All other values that were appended with the transition. */
  readonly [extra: string]: unknown;
}

export interface AppendedTransition {
  readonly state: unknown;
  readonly action: unknown;
  readonly reward: number;
  /** The state after the action. May be null or omitted if the state is terminal. */
  readonly nextState?: unknown;
  /** The next action. May be null or omitted for learners that do not need it. */
  readonly nextAction?: unknown;
  /** Whether the step ended in a terminal state. Default: false. */
  readonly isStateTerminal?: boolean;
  /** The environment of the step, as any value. Each environment has a separate open episode. Default: 0. */
  readonly envId?: unknown;
  readonly [extra: string]: unknown;
}

/** Returns the environment of the step; null is a valid environment. @throws TypeError if it is an array */
export function envIdOf({ envId = 0 }: AppendedTransition): unknown {
  if (typeof envId === "object") checkEnvId(envId);
  return envId;
}

/** @throws TypeError for an array, because the next call would probably pass another array */
export function checkEnvId(envId: unknown): void {
  if (Array.isArray(envId) || ArrayBuffer.isView(envId))
    throw mustBe(TypeError, "envId", "a value that stays equal between calls, such as a number or a string", envId);
}

/** Returns whether a key is a field of transitions, rather than an extra. */
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

/** The PFRL names of fields, and their names in Reprise. `append` rejects the PFRL names, because it would otherwise silently store the values as extras. */
export const RENAMED_KEYS: { readonly [name: string]: string } = {
  next_state: "nextState",
  next_action: "nextAction",
  is_state_terminal: "isStateTerminal",
  env_id: "envId",
};

/** Names that other libraries use for `isStateTerminal`. `append` rejects them if `isStateTerminal` is missing, because it would store them as extras. */
const END_KEYS: readonly string[] = ["done", "terminated", "terminal"];

const CALL_SHAPE = "as in append({ state, action, reward, nextState, isStateTerminal, … })";

/** @throws TypeError unless the transition is an object */
export function checkTransition(transition: AppendedTransition): void {
  if (typeof transition !== "object" || transition === null) throw mustBe(TypeError, "transition", `an object, ${CALL_SHAPE}`, transition);
}

/** @throws TypeError if a state or an action is missing */
export function checkGiven(name: string, value: unknown): void {
  if (value === undefined) throw mustBe(TypeError, name, `given, ${CALL_SHAPE}`, undefined);
}

/** @throws TypeError for an extra with another library's name for `isStateTerminal`, such as `done`, if `isStateTerminal` is missing */
export function checkEnd(name: string, value: unknown, { isStateTerminal }: AppendedTransition): void {
  if (isStateTerminal === undefined && END_KEYS.includes(name))
    throw mustBe(TypeError, name, ["renamed to isStateTerminal", `To store ${name} as an extra, also pass isStateTerminal`], value);
}

/** @throws TypeError for an extra that has the PFRL name of a field, or the name `__proto__` */
export function checkExtra(name: string, value: unknown): void {
  if (Object.hasOwn(RENAMED_KEYS, name)) throw mustBe(TypeError, name, `renamed to ${RENAMED_KEYS[name]}`, value);
  if (name === "__proto__") throw mustBe(TypeError, "__proto__", "renamed, because it cannot be an extra", value);
}

/** Returns the extras of an appended transition: all of its own properties except fields and undefined values. @throws TypeError for forbidden names */
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

/** Returns an appended transition in the form that a sample returns. */
export function asStored(transition: AppendedTransition): Transition {
  const { state, action, reward, nextState = null, nextAction = null, isStateTerminal = false } = transition;
  return { state, action, reward, nextState, nextAction, isStateTerminal, ...extrasOf(transition) };
}
