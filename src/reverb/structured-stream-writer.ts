/** Items of patterns, sent to a server. Reverb's `StructuredWriter`, as reprise/agents has it for tables of this process. */

import { flag, onlyKeys, ReplayError } from "../base/error.ts";
import type { WaitOptions } from "../base/wait.ts";
import type { PlacedLeaf } from "../schema/layout.ts";
import type { Spec, StepOf } from "../schema/spec.ts";
import { type Compiled, compiled } from "../tf-agents/patterns/compiled.ts";
import { type Config, mustBeConfigs } from "../tf-agents/patterns/config.ts";
import { isPartial, type PartOf } from "../tf-agents/writers/fields.ts";
import { Structure, shapesOf } from "../tf-agents/writers/structure.ts";
import type { EndEpisodeOptions } from "../tf-agents/writers/structured-writer.ts";
import { allOf, type Inside, insideOf, type StreamWriter } from "./stream-writer.ts";

/** What configs make of such steps. @throws TypeError, RangeError · ReplayError SPEC_MISMATCH */
export function compiledConfigs(configs: readonly Config[], leaves: readonly PlacedLeaf[]): readonly Compiled[] {
  mustBeConfigs(configs);
  return configs.map((config, i) => compiled(config, leaves, `configs[${i}]`));
}

export class StructuredStreamWriter<S extends Spec = Spec> {
  readonly configs: readonly Config[];
  readonly #compiled: readonly Compiled[];
  /** By config: whether its items were compared with the signature of their table. */
  readonly #fits: boolean[];
  readonly #structure: Structure<S>;
  readonly #writer: StreamWriter<S>;
  readonly #inside: Inside<S>;
  #stepIsOpen = false;
  /** Whether an end waits for items. */
  #ending = false;

  /** Made by `client.structuredWriter`. @param writer is closed with this @throws ReplayError SPEC_MISMATCH for a table that is known by now */
  constructor(configs: readonly Config[], found: readonly Compiled[], writer: StreamWriter<S>) {
    this.configs = Object.freeze([...configs]);
    this.#compiled = found;
    this.#writer = writer;
    this.#inside = insideOf(writer);
    this.#structure = new Structure<S>(found, this.#inside.fields);
    this.#fits = found.map(() => false);
    for (const k of found.keys()) this.#mustFit(k);
  }

  /** Whether the last append left its step open. */
  get stepIsOpen(): boolean {
    return this.#stepIsOpen;
  }

  /**
   * Appends a step, or a part of one, and makes an item of each config that applies then: one a step at most. Of a field that is null there is no value; but all steps must
   * have the same fields as the first one. O(bytes + configs + items)
   * @param options.partialStep leaves the step open: the next append goes on with it
   * @returns `undefined`, or a promise: until the table of an item is known, and where too many items are on their way until there is room
   * @throws ReplayError SPEC_MISMATCH, INVALID_DATA for another form, or a field that an earlier append of the step has set; OUT_OF_TURN while `endEpisode` waits. Nothing
   * changed then · NOT_FOUND, SPEC_MISMATCH for the first item of a table by the promise, and by the next `flush`
   */
  append(step: PartOf<StepOf<S>>, options?: { readonly partialStep?: boolean }): Promise<void> | undefined {
    this.#check();
    const partialStep = options === undefined ? false : isPartial(options);
    const inside = this.#inside;
    const given = inside.fields.take(step);
    const structure = this.#structure;
    const due = structure.look(step, given, this.#stepIsOpen ? inside.newest : undefined, this.#writer.episodeSteps);
    for (let i = 0; i < due; i++) this.#mustFit(structure.matcher.due[i] as number);
    inside.append(given, partialStep);
    this.#stepIsOpen = partialStep;
    structure.note();
    return this.#apply(due);
  }

  /**
   * Ends the episode, and a step that is open with it, after the configs for ends have made their items. With a time limit or a signal it ends when all items of this writer
   * are confirmed; where that does not come to be, it has not ended, though the items of its end are made.
   * @returns `undefined`, or a promise: with a time limit or a signal until all are confirmed, else as `append`
   * @throws ReplayError TIMEOUT, what ended the stream, or the signal's reason · NOT_FOUND, SPEC_MISMATCH as `append`
   */
  endEpisode(options: EndEpisodeOptions = {}): Promise<void> | undefined {
    this.#check();
    const { clearBuffers = true, ...wait } = onlyKeys("options", options, "clearBuffers, timeoutMs, signal");
    flag("clearBuffers", clearBuffers);
    wait.signal?.throwIfAborted();
    const { matcher } = this.#structure;
    const due = matcher.end();
    for (let i = 0; i < due; i++) this.#mustFit(matcher.due[i] as number);
    const room = this.#apply(due);
    if (wait.timeoutMs === undefined && wait.signal === undefined) {
      this.#end(clearBuffers);
      return room;
    }
    this.#ending = true;
    const ended = this.#writer
      .flush(wait)
      .finally(() => {
        this.#ending = false;
      })
      .then(() => {
        this.#inside.check();
        this.#end(clearBuffers);
      });
    // The caller need not await it.
    ended.catch(() => {});
    return ended;
  }

  /** Waits until at most `blockUntilNumItems` (0 where it is left out) of this writer's items are without a confirmation. @throws as a stream writer's `flush` */
  flush(options: WaitOptions & { readonly blockUntilNumItems?: number } = {}): Promise<void> {
    return this.#writer.flush(options);
  }

  /** Lets the steps at hand go. Items stay, also those that are on their way: the stream ends when they are confirmed, or with the client. */
  close(): void {
    this.#writer.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** Waits until all items are confirmed, then closes. @throws as `flush` */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#writer[Symbol.asyncDispose]();
  }

  #check(): void {
    this.#inside.check();
    if (this.#ending) throw new ReplayError("OUT_OF_TURN", "the episode is just ending: await what endEpisode gave first");
  }

  /** Compares a config with its table once that is known. */
  #mustFit(k: number): void {
    if (this.#fits[k]) return;
    const one = this.#compiled[k] as Compiled;
    this.#fits[k] = this.#inside.fits(one.config.table, shapesOf(one));
  }

  /** The items of the first `due` configs that the matcher has named. */
  #apply(due: number): Promise<void> | undefined {
    const { matcher } = this.#structure;
    const { total, fields } = this.#inside;
    const rooms: Promise<void>[] = [];
    for (let i = 0; i < due; i++) {
      const k = matcher.due[i] as number;
      const { config, nodes } = this.#compiled[k] as Compiled;
      const columns = nodes.map(({ node, leaf, ages }) => ({
        leaf: fields.leaves[leaf] as PlacedLeaf,
        steps: ages.map((age) => total - age),
        isSqueezed: node.isSqueezed,
      }));
      const room = this.#inside.insert(config.table, matcher.priority(k), columns);
      matcher.applied(k);
      if (room !== undefined) rooms.push(room);
    }
    return allOf(rooms);
  }

  #end(clearBuffers: boolean): void {
    this.#writer.endEpisode({ clearBuffers });
    this.#stepIsOpen = false;
    if (clearBuffers) this.#structure.matcher.clear();
  }
}
