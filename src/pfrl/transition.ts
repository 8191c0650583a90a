/** A transition, as it is appended and as it is given back. */
import { mustBe } from "../base/error.ts";

export interface Transition {
  readonly state: unknown;
  readonly action: unknown;
  readonly reward: number;
  /** null where none was given. */
  readonly nextState: unknown;
  readonly nextAction: unknown;
  readonly isStateTerminal: boolean;
  /** Whatever else was appended with it. */
  readonly [extra: string]: unknown;
}

export interface AppendedTransition {
  readonly state: unknown;
  readonly action: unknown;
  readonly reward: number;
  /** May be left out, or null, where the state is terminal. */
  readonly nextState?: unknown;
  /** Left out, or null, by learners that do not need it. */
  readonly nextAction?: unknown;
  /** false where it is left out. */
  readonly isStateTerminal?: boolean;
  /** Whose step it is: any value, 0 where it is left out. Each environment has a running episode of its own. */
  readonly envId?: unknown;
  readonly [extra: string]: unknown;
}

/** Whose step it is: null is an environment as any other value. @throws TypeError */
export function envIdOf({ envId = 0 }: AppendedTransition): unknown {
  if (typeof envId === "object") checkEnvId(envId);
  return envId;
}

/** @throws TypeError for an array, which the next call would have another one of */
export function checkEnvId(envId: unknown): void {
  if (Array.isArray(envId) || ArrayBuffer.isView(envId))
    throw mustBe(TypeError, "envId", "a value that is equal to itself at the next call, such as a number or a string", envId);
}

/** Whether a key is no extra. */
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

/** Names of the document that a program may have kept: as extras they would go unnoticed. */
export const RENAMED_KEYS: { readonly [name: string]: string } = {
  next_state: "nextState",
  next_action: "nextAction",
  is_state_terminal: "isStateTerminal",
  env_id: "envId",
};

/** What others call the end of an episode: as an extra, in the place of `isStateTerminal`, it would go unnoticed. */
const END_KEYS: readonly string[] = ["done", "terminated", "terminal"];

const CALL_SHAPE = "the one object of append({ state, action, reward, nextState, isStateTerminal, … })";

/** @throws TypeError for what is no object */
export function checkTransition(transition: AppendedTransition): void {
  if (typeof transition !== "object" || transition === null) throw mustBe(TypeError, "transition", CALL_SHAPE, transition);
}

/** @throws TypeError for a state or an action that is not there */
export function checkGiven(name: string, value: unknown): void {
  if (value === undefined) throw mustBe(TypeError, name, `given in ${CALL_SHAPE}`, undefined);
}

/** @throws TypeError for an extra that is the end of an episode by another name */
export function checkEnd(name: string, value: unknown, { isStateTerminal }: AppendedTransition): void {
  if (isStateTerminal === undefined && END_KEYS.includes(name)) throw mustBe(TypeError, name, "given as isStateTerminal (or beside it, as an extra)", value);
}

/** @throws TypeError for an extra whose name is another one here, or that no object can have as others */
export function checkExtra(name: string, value: unknown): void {
  if (Object.hasOwn(RENAMED_KEYS, name)) throw mustBe(TypeError, name, `written ${RENAMED_KEYS[name]}`, value);
  if (name === "__proto__") throw mustBe(TypeError, "__proto__", "renamed, because it cannot be an extra", value);
}

/** The extras of an appended transition: its own properties. */
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

/** An appended transition as it would be given back. */
export function asStored(transition: AppendedTransition): Transition {
  const { state, action, reward, nextState = null, nextAction = null, isStateTerminal = false } = transition;
  return { state, action, reward, nextState, nextAction, isStateTerminal, ...extrasOf(transition) };
}
