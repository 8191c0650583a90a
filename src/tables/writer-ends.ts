/** Checks the ends of a writer's episodes, and writes the bytes that the core reads. */

import { onlyKeys } from "../base/error.ts";
import { type Block, copyEnds, countEnds, finalsBytes, placeBlock, placeEnds, placeFinal, placeFinals } from "../memory/block.ts";
import type { Engine } from "../memory/engine.ts";
import { withLock } from "../memory/reentrancy.ts";
import { flattenPartial } from "../schema/nest.ts";
import {
  type BlockOptions,
  checkEnd,
  checkLaneEnds,
  type EndOptions,
  type EndRules,
  endRulesOf,
  finalStep,
  type LaneEnds,
  requireFinal,
  requireFlag,
  requireObservation,
} from "./episode-ends.ts";
import { type ResolvedWriterOptions, unknownTable } from "./rules.ts";

export class WriterEnds {
  /** The tables of the writer's rules. */
  readonly tables: readonly string[];
  readonly #engine: Engine;
  readonly #isVector: boolean;
  readonly #rules: EndRules;

  constructor(engine: Engine, options: ResolvedWriterOptions, isVector: boolean) {
    this.#engine = engine;
    this.tables = options.items.map((rule) => rule.table);
    this.#isVector = isVector;
    this.#rules = endRulesOf(options, engine.roles);
  }

  /** Checks the options of `endEpisode`, and returns them. */
  check<S>(options: EndOptions<S>): EndOptions<S> {
    return checkEnd(this.#rules, options);
  }

  /** Places the final step of one lane. @returns the address of the step */
  placeFinal(final: unknown, terminated: boolean | undefined): number {
    const engine = this.#engine;
    return withLock(engine, () => {
      const values = flattenPartial(engine.spec, final, "final");
      if (terminated === false) requireObservation(this.#rules, values, final);
      return placeFinal(engine, values);
    });
  }

  /** Checks which options of `appendColumns` are set, but not their values. */
  checkBlock<S>(options: BlockOptions<S>) {
    const { final, priorities, ...ends } = onlyKeys("appendColumns", options, "ends, terminated, truncated, final, priorities");
    for (const name in priorities) if (!this.tables.includes(name)) throw unknownTable(name, this.tables);
    requireFlag(this.#rules, ends, final);
    return { final, ends, priorities: priorities as { readonly [table: string]: ArrayLike<number> } | undefined };
  }

  placeBlock(columns: unknown, { final, ends, priorities }: ReturnType<WriterEnds["checkBlock"]>): Block {
    const engine = this.#engine;
    return withLock(engine, () => {
      const finals = final === undefined ? undefined : flattenPartial(engine.spec, final, "final");
      const block = placeBlock(engine, this.#rules.lanes, {
        columns: engine.flatten(columns),
        ends,
        finals,
        priorities: this.tables.map((table) => priorities?.[table]),
        isVector: this.#isVector,
      });
      requireFinal(this.#rules, final, block.truncated, ends.terminated !== undefined);
      if (finals !== undefined && block.truncated > 0) requireObservation(this.#rules, finals, final);
      return block;
    });
  }

  /**
   * Places the ends of each lane's episode at an address, and the final steps elsewhere. @returns the number of ends, the number of truncated episodes, and the
   * address of the final steps
   */
  placeLanes<S>(at: number, options: LaneEnds<S>): readonly [ended: number, truncated: number, finals: number] {
    const { core, spec, layout, reportNaN } = this.#engine;
    const { leaves } = layout;
    const { lanes } = this.#rules;
    const { final, ...rest } = checkLaneEnds(lanes > 1 || this.#isVector, options);
    const ends = copyEnds(rest, lanes);
    requireFlag(this.#rules, ends, final);
    const [ended, truncated] = countEnds(ends, lanes);
    requireFinal(this.#rules, final, truncated, ends.terminated !== undefined);
    let finals = 0;
    if (final !== undefined && ended > 0) {
      const columns = finalStep(spec, leaves, lanes, ends, final);
      if (truncated > 0) requireObservation(this.#rules, columns, final);
      finals = core.scratch(finalsBytes(leaves, ended));
      placeFinals(core, leaves, finals, columns, ended, reportNaN);
    }
    placeEnds(core, at, ends, lanes);
    return [ended, truncated, finals];
  }
}
