/** Maps transitions to rows: the spec of a row, the step for a transition, and the transition of a row. */
import { flag, mustBe, ReplayError } from "../../base/error.ts";
import { bool, type PackedOptions, u32 } from "../../schema/constructors.ts";
import { isObject } from "../../schema/leaf.ts";
import type { Spec } from "../../schema/spec.ts";
import { type AppendedTransition, checkEnd, checkExtra, checkGiven, checkTransition, isTransitionField, type Transition } from "../transition.ts";
import type { PartSpec } from "./leaf.ts";
import { copyObject } from "./object-value.ts";
import { infer, matchesSpec, packedRow, type WholeSpec } from "./step-spec.ts";
import { type Columns, partOfSpec, type RowValues, type TransitionPart } from "./transition-part.ts";

/** An extra: its column, and its bit in `present`. */
interface Extra {
  readonly name: string;
  readonly part: TransitionPart;
  readonly slot: number;
  readonly bit: number;
  /** Whether the column accepts null as a value. */
  readonly takesNull: boolean;
}

export type PartName = "state" | "action" | "nextState" | "nextAction";
const PARTS: readonly PartName[] = ["state", "action", "nextState", "nextAction"];
/** The record of a transition without object columns. */
const NO_RECORD: RowValues = Object.freeze([]) as unknown as RowValues;

/** The prefix of the paths of extras in a row. */
const EXTRAS = "extras.";

export class RowSchema {
  readonly spec: WholeSpec;
  /** The spec of a row. */
  readonly row: Spec;
  /** The step to append. `write` fills the same object each time. */
  readonly step: { [name: string]: unknown } = {};
  readonly parts: { readonly [P in PartName]: TransitionPart };
  readonly extras: readonly Extra[];
  /**
   * The number of object columns: those of the state, the action, the next state, the next action and the extras, in this order. The element of a record after
   * all of these contains the extras that have no column of their own.
   */
  readonly slots: number;
  /** The index of each part's first object column. */
  readonly slotOf: { readonly [P in PartName]: number };
  /** Whether there are object columns. */
  readonly #records: boolean;
  readonly #bits: ReadonlyMap<string, number>;
  readonly #joins: { readonly [path: string]: ReturnType<TransitionPart["join"]> };

  /** @param pack the options for packing frames; undefined for unpacked frames */
  constructor(spec: WholeSpec, pack?: PackedOptions) {
    this.spec = spec;
    const { state, action } = spec;
    this.parts = {
      state: partOfSpec("state", state),
      action: partOfSpec("action", action),
      nextState: partOfSpec("nextState", state),
      nextAction: partOfSpec("nextAction", action),
    };
    let slots = 0;
    this.slotOf = Object.fromEntries(
      PARTS.map((name) => {
        slots += this.parts[name].objects;
        return [name, slots - this.parts[name].objects];
      }),
    ) as { [P in PartName]: number };
    this.extras = Object.entries(spec.extras).map(([name, extra], i) => {
      const part = partOfSpec(name, extra);
      const slot = slots;
      slots += part.objects;
      return { name, part, slot, bit: (1 << i) >>> 0, takesNull: !spec.inferred || isObject(extra) };
    });
    this.slots = slots;
    this.#records = slots > 0;
    this.#bits = new Map(this.extras.map(({ name, bit }) => [name, bit]));
    const extras = this.extras.flatMap(({ name, part }) => (part.row === undefined ? [] : [[name, part.row] as const]));
    const row = Object.fromEntries(
      Object.entries({
        ...Object.fromEntries(PARTS.map((name) => [name, this.parts[name].row])),
        reward: spec.reward,
        isStateTerminal: bool(),
        hasNextState: bool(),
        hasNextAction: bool(),
        present: this.extras.length === 0 ? undefined : u32(),
        extras: extras.length === 0 ? undefined : Object.fromEntries(extras),
      }).filter(([, part]) => part !== undefined),
    ) as Spec;
    this.row = pack === undefined ? row : packedRow(row, pack);
    for (const name of Object.keys(this.row)) this.step[name] = undefined;
    if ("extras" in this.step) this.step.extras = Object.fromEntries(extras.map(([name]) => [name, undefined]));
    this.#joins = Object.fromEntries([
      ...PARTS.map((name) => [name, this.parts[name].join(name)] as const),
      ...this.extras.map(({ name, part }) => [`extras.${name}`, part.join(`extras.${name}`)] as const),
    ]);
  }

  /**
   * Fills `step`. Returns the values that the row cannot store, or undefined if there are none. The engine checks the row's values.
   * @param matching the extras that are stored in their columns. Default: all extras
   * @throws TypeError for a value that cannot be stored, and for a PFRL name whose Reprise name differs
   */
  write(transition: AppendedTransition, matching?: readonly Extra[]): RowValues | undefined {
    checkTransition(transition);
    const { step } = this;
    const { state, action, nextState = null, nextAction = null, isStateTerminal = false } = transition;
    const record: RowValues = this.#records ? [] : NO_RECORD;
    checkGiven("state", state);
    checkGiven("action", action);
    // The loop over the four parts is unrolled, because access with changing property names is slow.
    const { parts, slotOf } = this;
    const rowState = parts.state.direct ? state : parts.state.split(state, record, slotOf.state);
    const rowAction = parts.action.direct ? action : parts.action.split(action, record, slotOf.action);
    if (parts.state.row !== undefined) {
      step.state = rowState;
      step.nextState = parts.nextState.zero;
    }
    if (parts.action.row !== undefined) {
      step.action = rowAction;
      step.nextAction = parts.nextAction.zero;
    }
    if (nextState !== null) {
      const rowNextState = parts.nextState.direct ? nextState : parts.nextState.split(nextState, record, slotOf.nextState);
      if (parts.state.row !== undefined) step.nextState = rowNextState;
    }
    if (nextAction !== null) {
      const rowNextAction = parts.nextAction.direct ? nextAction : parts.nextAction.split(nextAction, record, slotOf.nextAction);
      if (parts.action.row !== undefined) step.nextAction = rowNextAction;
    }
    step.reward = transition.reward;
    step.hasNextState = nextState !== null;
    step.hasNextAction = nextAction !== null;
    step.isStateTerminal = flag("isStateTerminal", isStateTerminal) !== 0;
    const remaining = this.#putExtras(transition, record, matching ?? this.extras);
    if (remaining !== undefined) {
      const all = this.#records ? record : [];
      all[this.slots] = remaining;
      return all;
    }
    return record.length === 0 ? undefined : record;
  }

  /** Rewrites an engine error about an extra, so that it names the extra as the caller does. Returns all other errors unchanged. */
  explain(error: unknown): unknown {
    if (!(error instanceof ReplayError) || !error.message.startsWith(EXTRAS)) return error;
    const remedy = this.spec.inferred ? ". The spec was inferred from the first transition. Pass spec.extras with object() to accept any value" : "";
    return new ReplayError(error.code, error.message.slice(EXTRAS.length) + remedy);
  }

  /** Returns the transition of the n-th row in the columns. @param record the values that the row cannot store */
  read(columns: Columns, n: number, record: RowValues | undefined): Transition {
    const number = (path: string) => Number(columns.get(path)?.[n]);
    const joinPart = (name: PartName) => this.#joins[name]?.(columns, n, record, this.slotOf[name]);
    const transition: { [name: string]: unknown } = {
      state: joinPart("state"),
      action: joinPart("action"),
      reward: number("reward"),
      nextState: number("hasNextState") === 1 ? joinPart("nextState") : null,
      nextAction: number("hasNextAction") === 1 ? joinPart("nextAction") : null,
      isStateTerminal: number("isStateTerminal") === 1,
    };
    const present = this.extras.length === 0 ? 0 : number("present");
    for (const { name, slot, bit } of this.extras) {
      if ((present & bit) !== 0) transition[name] = this.#joins[`extras.${name}`]?.(columns, n, record, slot);
    }
    return Object.assign(transition, record?.[this.slots]) as Transition;
  }

  /**
   * Returns the extras that a transition from a file can store in their columns. With an inferred spec, these are the extras that fit, and `write` stores the
   * other extras as objects. With a spec from the caller, these are all extras, and values that do not fit are rejected.
   */
  matchingExtras(transition: AppendedTransition): readonly Extra[] {
    const { inferred, extras } = this.spec;
    const isMatching = (name: string, spec: PartSpec) => isObject(spec) || matchesSpec(spec, infer(transition[name] ?? null, name));
    return inferred ? this.extras.filter(({ name }) => isMatching(name, extras[name] as PartSpec)) : this.extras;
  }

  #putExtras(transition: AppendedTransition, record: RowValues, matching: readonly Extra[]): { [name: string]: unknown } | undefined {
    const { step } = this;
    let present = 0;
    for (const extra of this.extras) {
      const { name, part, slot, bit, takesNull } = extra;
      const value = Object.hasOwn(transition, name) ? transition[name] : undefined;
      // null is not a number, so the column stores no value. Lists return null, and batches mark the value as missing.
      const isStored = value !== undefined && (value !== null || takesNull) && (matching === this.extras || matching.includes(extra));
      if (isStored) present |= bit;
      const rowValue = isStored ? part.split(value, record, slot) : part.zero;
      if (part.row !== undefined) (step.extras as { [name: string]: unknown })[name] = rowValue;
    }
    if ("present" in step) step.present = present >>> 0;
    let remaining: { [name: string]: unknown } | undefined;
    for (const name of Object.keys(transition)) {
      if (isTransitionField(name) || ((this.#bits.get(name) ?? 0) & present) !== 0) continue;
      const value = transition[name];
      if (value === undefined) continue;
      checkExtra(name, value);
      checkEnd(name, value, transition);
      if (!this.spec.inferred)
        throw mustBe("SPEC_MISMATCH", "extras", `the extras of the spec (${[...this.#bits.keys()].join(", ") || "none"})`, { [name]: value });
      remaining ??= {};
      remaining[name] = copyObject(value, name);
    }
    return remaining;
  }
}
