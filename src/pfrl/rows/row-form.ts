/** How transitions are rows: the spec of a row, the step that a transition fills, and the transition that a row gives back. */
import { flag, mustBe, ReplayError } from "../../base/error.ts";
import { bool, u32 } from "../../schema/constructors.ts";
import { isObject } from "../../schema/leaf.ts";
import type { Spec } from "../../schema/spec.ts";
import { type AppendedTransition, checkEnd, checkExtra, checkGiven, checkTransition, isOwnKey, type Transition } from "../transition.ts";
import type { PartSpec } from "./leaf.ts";
import { copyObject } from "./object-value.ts";
import { type Columns, type Part, partOfSpec, type RowValues } from "./part.ts";
import { alike, infer, type WholeSpec } from "./step-spec.ts";

/** An extra: its column, and its bit in `present`. */
interface Extra {
  readonly name: string;
  readonly part: Part;
  readonly slot: number;
  readonly bit: number;
  /** Whether null is a value of its column, or refused by it. */
  readonly takesNull: boolean;
}

type PartName = "state" | "action" | "nextState" | "nextAction";
const PARTS: readonly PartName[] = ["state", "action", "nextState", "nextAction"];
/** Of a form without object columns. */
const NO_RECORD: RowValues = Object.freeze([]) as unknown as RowValues;

/** Where the row has extras. */
const EXTRAS = "extras.";

export class RowForm {
  readonly spec: WholeSpec;
  /** The spec of a row. */
  readonly row: Spec;
  /** The step to append: filled by `write`, the same object each time. */
  readonly step: { [name: string]: unknown } = {};
  readonly parts: { readonly [P in PartName]: Part };
  readonly extras: readonly Extra[];
  /** Object columns: of state, action, next state, next action, extras; the last one holds extras that have no column. */
  readonly slots: number;
  /** Where the object columns of a part begin. */
  readonly slotOf: { readonly [P in PartName]: number };
  /** Whether there are object columns. */
  readonly #records: boolean;
  readonly #bits: ReadonlyMap<string, number>;
  readonly #joins: { readonly [path: string]: ReturnType<Part["join"]> };

  constructor(spec: WholeSpec) {
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
    this.row = Object.fromEntries(
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
    for (const name of Object.keys(this.row)) this.step[name] = undefined;
    if ("extras" in this.step) this.step.extras = Object.fromEntries(extras.map(([name]) => [name, undefined]));
    this.#joins = Object.fromEntries([
      ...PARTS.map((name) => [name, this.parts[name].join(name)] as const),
      ...this.extras.map(({ name, part }) => [`extras.${name}`, part.join(`extras.${name}`)] as const),
    ]);
  }

  /**
   * Fills `step`; gives the objects, if there are any. The engine checks what goes into the row.
   * @param fitting the extras that go to their columns; all where it is left out
   * @throws TypeError for what cannot be kept, and for a name of the document that is another one here
   */
  write(transition: AppendedTransition, fitting?: readonly Extra[]): RowValues | undefined {
    checkTransition(transition);
    const { step } = this;
    const { state, action, nextState = null, nextAction = null, isStateTerminal = false } = transition;
    const record: RowValues = this.#records ? [] : NO_RECORD;
    checkGiven("state", state);
    checkGiven("action", action);
    // Four times the same, one name each: a name that differs from turn to turn would be slow.
    const { parts, slotOf } = this;
    const ownState = parts.state.direct ? state : parts.state.split(state, record, slotOf.state);
    const ownAction = parts.action.direct ? action : parts.action.split(action, record, slotOf.action);
    if (parts.state.row !== undefined) {
      step.state = ownState;
      step.nextState = parts.nextState.zero;
    }
    if (parts.action.row !== undefined) {
      step.action = ownAction;
      step.nextAction = parts.nextAction.zero;
    }
    if (nextState !== null) {
      const own = parts.nextState.direct ? nextState : parts.nextState.split(nextState, record, slotOf.nextState);
      if (parts.state.row !== undefined) step.nextState = own;
    }
    if (nextAction !== null) {
      const own = parts.nextAction.direct ? nextAction : parts.nextAction.split(nextAction, record, slotOf.nextAction);
      if (parts.action.row !== undefined) step.nextAction = own;
    }
    step.reward = transition.reward;
    step.hasNextState = nextState !== null;
    step.hasNextAction = nextAction !== null;
    step.isStateTerminal = flag("isStateTerminal", isStateTerminal) !== 0;
    const others = this.#putExtras(transition, record, fitting ?? this.extras);
    if (others !== undefined) {
      const all = this.#records ? record : [];
      all[this.slots] = others;
      return all;
    }
    return record.length === 0 ? undefined : record;
  }

  /** What the engine says of a row, by the names that a transition has. */
  explained(error: unknown): unknown {
    if (!(error instanceof ReplayError) || !error.message.startsWith(EXTRAS)) return error;
    const remedy = this.spec.inferred ? ": the first transition had it so (give spec.extras; object() takes any form)" : "";
    return new ReplayError(error.code, error.message.slice(EXTRAS.length) + remedy);
  }

  /** The n-th transition of columns of rows. */
  read(columns: Columns, n: number, record: RowValues | undefined): Transition {
    const number = (path: string) => Number(columns.get(path)?.[n]);
    const joined = (name: PartName) => this.#joins[name]?.(columns, n, record, this.slotOf[name]);
    const transition: { [name: string]: unknown } = {
      state: joined("state"),
      action: joined("action"),
      reward: number("reward"),
      nextState: number("hasNextState") === 1 ? joined("nextState") : null,
      nextAction: number("hasNextAction") === 1 ? joined("nextAction") : null,
      isStateTerminal: number("isStateTerminal") === 1,
    };
    const present = this.extras.length === 0 ? 0 : number("present");
    for (const { name, slot, bit } of this.extras) {
      if ((present & bit) !== 0) transition[name] = this.#joins[`extras.${name}`]?.(columns, n, record, slot);
    }
    return Object.assign(transition, record?.[this.slots]) as Transition;
  }

  /** The extras of a transition from elsewhere that have their columns' form; the others can be kept as objects, unless a spec was given. */
  fitting(transition: AppendedTransition): readonly Extra[] {
    const { inferred, extras } = this.spec;
    const fits = (name: string, spec: PartSpec) => isObject(spec) || alike(spec, infer(transition[name] ?? null, name));
    return inferred ? this.extras.filter(({ name }) => fits(name, extras[name] as PartSpec)) : this.extras;
  }

  #putExtras(transition: AppendedTransition, record: RowValues, fitting: readonly Extra[]): { [name: string]: unknown } | undefined {
    const { step } = this;
    let present = 0;
    for (const extra of this.extras) {
      const { name, part, slot, bit, takesNull } = extra;
      const value = Object.hasOwn(transition, name) ? transition[name] : undefined;
      // No value is no number: lists give it back, batches have nothing there.
      const kept = value !== undefined && (value !== null || takesNull) && (fitting === this.extras || fitting.includes(extra));
      if (kept) present |= bit;
      const own = kept ? part.split(value, record, slot) : part.zero;
      if (part.row !== undefined) (step.extras as { [name: string]: unknown })[name] = own;
    }
    if ("present" in step) step.present = present >>> 0;
    let others: { [name: string]: unknown } | undefined;
    for (const name of Object.keys(transition)) {
      if (isOwnKey(name) || ((this.#bits.get(name) ?? 0) & present) !== 0) continue;
      const value = transition[name];
      if (value === undefined) continue;
      checkExtra(name, value);
      checkEnd(name, value, transition);
      if (!this.spec.inferred) throw mustBe("SPEC_MISMATCH", "extras", `those of the spec: ${[...this.#bits.keys()].join(", ") || "none"}`, { [name]: value });
      others ??= {};
      others[name] = copyObject(value, name);
    }
    return others;
  }
}
