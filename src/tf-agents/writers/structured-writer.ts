/** A writer that makes items by itself, of patterns over its last steps. Reverb's `StructuredWriter`. */
import { pointAtCallersOf } from "../../base/caller.ts";
import { flag, mustBe, onlyKeys, ReplayError, show } from "../../base/error.ts";
import type { WaitOptions } from "../../base/wait.ts";
import type { Engine } from "../../memory/engine.ts";
import { engineOf, type Replay } from "../../replay/replay.ts";
import type { Spec, StepOf } from "../../schema/spec.ts";
import { unknownTable } from "../../tables/rules.ts";
import type { AnyTable } from "../../tables/table.ts";
import { type Compiled, compiled } from "../patterns/compiled.ts";
import { type Config, mustBeConfigs } from "../patterns/config.ts";
import { mustFit, type Signature } from "../signature.ts";
import { isPartial, type PartOf } from "./fields.ts";
import { Structure, shapesOf } from "./structure.ts";
import { type Steps, stepsOf, TrajectoryWriter } from "./trajectory-writer.ts";

export interface EndEpisodeOptions extends WaitOptions {
  /** Whether no later item reaches back over the end; true where it is left out. */
  readonly clearBuffers?: boolean;
}

/** A config with what its items are made with. */
interface Made {
  readonly compiled: Compiled;
  readonly table: AnyTable;
  /** The number of its column layout. */
  readonly layout: number;
}

export class StructuredWriter<S extends Spec = Spec> {
  readonly configs: readonly Config[];
  readonly #engine: Engine;
  readonly #made: readonly Made[];
  /** Each config's layout: as long as they are here, they keep their numbers. */
  readonly #layouts: readonly number[];
  readonly #structure: Structure<S>;
  readonly #writer: TrajectoryWriter<S>;
  readonly #steps: Steps<S>;
  #stepIsOpen = false;
  /** Whether an end waits for items. */
  #ending = false;
  #closed = false;

  /** Made by `client.structuredWriter`. @throws TypeError, RangeError · ReplayError NOT_FOUND, SPEC_MISMATCH */
  constructor(replay: Replay<S, string>, configs: readonly Config[], signatures: (table: string) => Signature | undefined) {
    pointAtCallersOf(new.target);
    mustBeConfigs(configs);
    const engine = engineOf(replay);
    engine.begin();
    const { leaves } = engine.layout;
    const found = configs.map((config, i) => compiled(config, leaves, `configs[${i}]`));
    for (const [i, one] of found.entries()) {
      const { config } = one;
      if (!Object.hasOwn(replay.options.tables, config.table))
        throw unknownTable(config.table, Object.keys(replay.options.tables), `the table of configs[${i}]`);
      mustFit(config.table, signatures(config.table), shapesOf(one));
    }
    mustTake(replay, configs);
    const layouts: number[] = [];
    for (const { columns } of found) layouts.push(engine.columnLayouts.numberOf(columns, layouts));
    const tables = replay.tables as unknown as { readonly [name: string]: AnyTable };
    this.#engine = engine;
    this.#layouts = layouts;
    this.#made = found.map((one, k) => ({ compiled: one, table: tables[one.config.table] as AnyTable, layout: layouts[k] as number }));
    this.configs = Object.freeze([...configs]);
    const reach = Math.max(...found.map((one) => one.reach));
    this.#writer = new TrajectoryWriter<S>(replay, { numKeepAliveRefs: reach }, () => undefined);
    this.#steps = stepsOf(this.#writer);
    this.#structure = new Structure<S>(found, this.#steps.fields);
    engine.columnLayouts.rules.add(layouts);
  }

  /** Whether the last append left its step open. */
  get stepIsOpen(): boolean {
    return this.#stepIsOpen;
  }

  /**
   * Appends a step, or a part of one, and makes an item of each config that applies then: one a step at most. Of a field that is null there is no value; but all steps must
   * have the same fields as the first one. A step that is whole, and to which nothing applies, costs what a trajectory writer's append does. O(bytes + configs + items)
   * @param options.partialStep leaves the step open: the next append goes on with it
   * @throws ReplayError SPEC_MISMATCH, INVALID_DATA for another form, or a field that an earlier append of the step has set; RATE_LIMITED where too many items wait already;
   * OUT_OF_TURN while `endEpisode` waits; OUT_OF_MEMORY. Nothing changed then; but where memory ran out for an item, the step is there
   */
  append(step: PartOf<StepOf<S>>, options?: { readonly partialStep?: boolean }): void {
    this.#check();
    const partialStep = options === undefined ? false : isPartial(options);
    const steps = this.#steps;
    const given = steps.fields.take(step);
    const structure = this.#structure;
    const due = structure.look(step, given, this.#stepIsOpen ? (steps.open ?? []) : undefined, this.#writer.episodeSteps);
    if (due > 0) this.#mustHaveRoom(due);
    steps.append(step, given, partialStep);
    this.#stepIsOpen = partialStep;
    structure.note();
    if (due > 0) this.#apply(due);
  }

  /**
   * Ends the episode, and a step that is open with it, after the configs for ends have made their items. With a time limit or a signal it ends when all items of this writer
   * are in their tables; where that does not come to be, it has not ended, though the items of its end are made.
   * @returns `undefined` where no item waits for a rate limiter, else a promise until none does
   * @throws ReplayError TIMEOUT, or the signal's reason; RATE_LIMITED where too many items wait already, and then nothing has changed
   */
  endEpisode(options: EndEpisodeOptions = {}): Promise<void> | undefined {
    this.#check();
    const { clearBuffers = true, ...wait } = onlyKeys("options", options, "clearBuffers, timeoutMs, signal");
    flag("clearBuffers", clearBuffers);
    const { signal, timeoutMs } = wait;
    signal?.throwIfAborted();
    const due = this.#structure.matcher.end();
    this.#mustHaveRoom(due);
    this.#apply(due);
    const waits = this.#writer.flush(wait);
    if (waits === undefined || (timeoutMs === undefined && signal === undefined)) {
      this.#end(clearBuffers);
      return waits;
    }
    this.#ending = true;
    const ended = waits.then(
      () => {
        this.#ending = false;
        if (!this.#closed) this.#end(clearBuffers);
      },
      (reason) => {
        this.#ending = false;
        throw reason;
      },
    );
    // The caller need not await it.
    ended.catch(() => {});
    return ended;
  }

  /**
   * Waits until at most `blockUntilNumItems` (0 where it is left out) of this writer's items wait for a rate limiter; `undefined` where it is so.
   * @throws RangeError, TypeError · ReplayError TIMEOUT, or the signal's reason
   */
  flush(options: WaitOptions & { readonly blockUntilNumItems?: number } = {}): Promise<void> | undefined {
    this.#open();
    return this.#writer.flush(options);
  }

  /** Lets the steps at hand go. Items stay, also those that wait. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#engine.columnLayouts.rules.delete(this.#layouts);
    this.#writer.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #open(): void {
    if (this.#closed) throw new ReplayError("CLOSED", "this writer was closed: make a new one with client.structuredWriter()");
    this.#engine.begin();
  }

  #check(): void {
    this.#open();
    if (this.#ending) throw new ReplayError("OUT_OF_TURN", "the episode is just ending: await what endEpisode gave first");
  }

  /** Whether the items of the first `due` configs may come in, or wait. */
  #mustHaveRoom(due: number): void {
    const numbers = this.#structure.matcher.due;
    for (let i = 0; i < due; i++) {
      const { table } = this.#made[numbers[i] as number] as Made;
      let n = 1;
      for (let j = 0; j < i; j++) if ((this.#made[numbers[j] as number] as Made).table === table) n++;
      if (this.#steps.waiting(table, n) > table.options.maxPending)
        throw new ReplayError(
          "RATE_LIMITED",
          `maxPending items already wait for the rate limiter of table ${show(table.name)}: sample from it, or await flush()`,
        );
    }
  }

  #apply(due: number): void {
    const { matcher } = this.#structure;
    for (let i = 0; i < due; i++) {
      const k = matcher.due[i] as number;
      const { compiled: one, table, layout } = this.#made[k] as Made;
      this.#steps.insert(table, one.length, matcher.priority(k), one.behind, layout);
      matcher.applied(k);
    }
  }

  #end(clearBuffers: boolean): void {
    this.#writer.endEpisode({ clearBuffers });
    this.#stepIsOpen = false;
    if (clearBuffers) this.#structure.matcher.clear();
  }
}

/** @throws RangeError for a priority that its table does not take, as beside a large exponent */
function mustTake<S extends Spec>(replay: Replay<S, string>, configs: readonly Config[]): void {
  configs.forEach(({ table, priority: { value, leaf } }, i) => {
    if (leaf !== undefined) return;
    try {
      replay.writer({ items: [{ table, length: 1, priority: value }] } as object).close();
    } catch (error) {
      if (error instanceof RangeError) throw mustBe(RangeError, `the priority of configs[${i}]`, `one that table ${show(table)} takes`, value);
      throw error;
    }
  });
}
