/** Pushes recorded episodes into tables, using the rules of a writer. */
import { codeOf, described, mustBe, onlyKeys, ReplayError } from "../../../base/error.ts";
import { abortable, type WaitOptions } from "../../../base/wait.ts";
import type { RemoteWriter } from "../../../remote/writer.ts";
import type { ResolvedRule } from "../../../tables/rules.ts";
import type { Writer } from "../../../tables/writer.ts";
import type { RldsDataset } from "../../model/dataset.ts";
import { episodesOf } from "../../model/derive.ts";
import { castPlain } from "../../model/plain-numbers.ts";
import { RldsError } from "../../model/rlds-error.ts";
import { Pace, type PassOptions } from "../../model/traversal.ts";
import { type FinalStepRule, withFinalStepRule } from "../transform/final-observations.ts";
import { type EpisodeColumns, EpisodeReader, type StepFields } from "./episode-columns.ts";
import { mustHaveSteps, noSteps } from "./trajectory-spec.ts";

export interface PushEpisodesOptions extends PassOptions {
  /**
   * For leaves of the writer's spec that have other names in the steps, their paths in the steps, such as `{ obs: "observation", "info.mask": "action_mask" }`.
   */
  readonly fields?: StepFields;
  /**
   * The treatment of each episode's last step. Default: the kind that the episode states. If there is no final observation, the last observation is repeated.
   */
  readonly finalStep?: FinalStepRule;
}

/** The counts of the episodes that were pushed. */
export interface PushedEpisodes {
  readonly episodes: number;
  /** The number of steps that begin a transition, which are all steps except final observations. */
  readonly steps: number;
  readonly terminated: number;
  readonly truncated: number;
  /** The number of episodes whose last observation was repeated, because the data has no final observation. */
  readonly repeated: number;
  /** The number of episodes whose last transition was left out because of `finalStep: "drop"`. */
  readonly dropped: number;
  /** The number of items that the writer's rules created. Undefined for a remote writer, because its rules run in another thread or process. */
  readonly items: number | undefined;
}

/**
 * Appends every episode to a writer, whose rules create the items. An `nStep` rule creates the transitions that `table.transitions` reads. If `is_terminal` is
 * true for the last step, the episode terminated. Otherwise, the episode was truncated. A last step that is a final observation becomes the final step, and its
 * action, reward and discount are not read. A last step that is a transition is pushed as a transition, and its observation is repeated as the final
 * observation. An episode that consists only of a final observation has no transition and is left out.
 *
 * The leaves of the writer's spec are read from the steps under their own names, or under the paths that `fields` sets. Steps may have additional leaves. An
 * episode is read and checked completely before it is appended. If items have to wait for a rate limiter, the call waits for them, unless `signal` aborts.
 * After an error, all earlier episodes are complete, but the failed episode may be open in the writer with some of its steps. Keeps one episode in memory.
 * Costs O(bytes).
 * @throws RldsError SPEC_MISMATCH if a leaf is missing or has a different form. If the data has a `stepSpec`, this is checked before anything is pushed
 * @throws RldsError INVALID_DATA if a flag is in the wrong place, or if the writer rejects a value
 * @throws RldsError EMPTY if there is no transition
 * @throws RldsError RATE_LIMITED if a rate limiter blocks an item and the table has no room for waiting items
 * @throws ReplayError OUT_OF_TURN if the writer has an open episode
 * @throws TypeError if the writer has several lanes or `autoreset: "nextStep"`, or if an option is invalid
 */
export async function pushEpisodes(data: RldsDataset, writer: Writer | RemoteWriter, options: PushEpisodesOptions = {}): Promise<PushedEpisodes> {
  mustTake(writer);
  const { fields, finalStep, signal, onProgress } = onlyKeys("options", options, "fields, finalStep, signal, onProgress");
  const finalSteps = { dropped: 0 };
  const reader = new EpisodeReader(writer.spec, fields);
  const plain = castPlain(data, (keys) => reader.dtypeOf(keys));
  const episodes = episodesOf(finalStep === undefined ? plain : withFinalStepRule(plain, finalStep, finalSteps));
  const pace = new Pace({ ...(signal && { signal }), ...(onProgress && { onProgress }) });
  const { stepSpec } = plain;
  if (stepSpec !== undefined) reader.mustFit(stepSpec);
  const rules = "options" in writer ? writer.options.items : undefined;
  const columnWriter = writer as unknown as ColumnWriter;
  const append = appender(columnWriter, rules === undefined, reader, signal);
  let [steps, terminated, truncated, repeated, items, number] = [0, 0, 0, 0, 0, 0];
  for await (const source of episodes) {
    const episode = number++;
    mustHaveSteps(source, episode);
    const columns = await reader.read(source, episode, signal);
    const { rows, transitions } = columns;
    if (transitions === 0) continue;
    await append(columns).catch((error) => {
      throw error instanceof ReplayError && error.code !== "CLOSED" ? new RldsError(error.code, error.message, { episode }, { cause: error }) : error;
    });
    steps += transitions;
    if (transitions === rows) repeated++;
    if (columns.terminated) terminated++;
    else truncated++;
    for (const rule of rules ?? []) items += itemsOf(rule, transitions + 1);
    await pace.after(transitions);
  }
  if (steps === 0) throw number === 0 ? noSteps() : new RldsError("EMPTY", "no episode has the two steps that a transition needs");
  await flushWriter(columnWriter, signal);
  return { episodes: terminated + truncated, steps, terminated, truncated, repeated, dropped: finalSteps.dropped, items: rules && items };
}

/** The common interface of local and remote writers. */
interface ColumnWriter {
  /** Returns a promise if the port is congested. */
  appendColumns(columns: unknown, options?: object): Promise<void> | number | undefined;
  flush(options?: WaitOptions): Promise<void> | undefined;
}

/** Returns a function that appends episodes in blocks of columns. If only a few items may wait, the blocks are smaller. */
function appender(writer: ColumnWriter, isRemote: boolean, reader: EpisodeReader, signal: AbortSignal | undefined): (episode: EpisodeColumns) => Promise<void> {
  let maxRows = reader.blockRows;
  return async (episode) => {
    const end = episode.transitions;
    for (let from = 0; from < end; ) {
      const to = Math.min(from + maxRows, end);
      try {
        const options = to < end ? {} : { ...endsOf(episode, to - from), final: reader.final(episode) };
        const pending = writer.appendColumns(reader.rows(episode, from, to), options);
        from = to;
        if (typeof pending === "object") await abortable(pending, "the other end of the port has no room for more steps", { signal });
        // The items of a remote writer wait at the other end of its port.
        if (!isRemote) await flushWriter(writer, signal);
      } catch (error) {
        if (isRemote || from === to || codeOf(error) !== "RATE_LIMITED") throw error;
        if (await flushWriter(writer, signal)) continue;
        if (to - from === 1)
          throw new ReplayError("RATE_LIMITED", "a table's rate limiter blocks the item, and maxPending leaves no room for it to wait. Increase maxPending");
        maxRows = (to - from) >> 1;
      }
    }
  };
}

/** Resolves when no items are waiting. @returns whether any item waited */
async function flushWriter(writer: ColumnWriter, signal: AbortSignal | undefined): Promise<boolean> {
  const wait = writer.flush({ signal });
  await wait;
  return wait !== undefined;
}

/** Returns the end flags for the given number of rows. The episode ends with the last of these rows. */
function endsOf({ terminated }: EpisodeColumns, rows: number): { readonly terminated: Uint8Array; readonly truncated: Uint8Array } {
  const flags = { terminated: new Uint8Array(rows), truncated: new Uint8Array(rows) };
  flags[terminated ? "terminated" : "truncated"][rows - 1] = 1;
  return flags;
}

/** Returns the number of items that a rule creates from an episode. The last row does not begin a transition. */
function itemsOf({ nStep, length, stride }: ResolvedRule, rows: number): number {
  if (nStep > 0) return rows - 1;
  const lastStep = length === 1 ? rows - 1 : rows;
  return lastStep < length ? 0 : Math.floor((lastStep - length) / stride) + 1;
}

/** Checks a writer. @throws TypeError if it is not a writer of a single lane, or resets on the next step · ReplayError OUT_OF_TURN if it has an open episode */
function mustTake(writer: Writer | RemoteWriter): void {
  const { appendColumns, spec } = (writer ?? {}) as Partial<Writer>;
  if (typeof appendColumns !== "function" || spec === undefined) throw mustBe(TypeError, "writer", "a writer from replay.writer or remoteWriter", writer);
  const { lanes, autoreset } = "options" in writer ? writer.options : { lanes: writer.lanes, autoreset: "disabled" };
  if (lanes > 1) throw mustBe(TypeError, "writer", "a writer with one lane, because episodes have different lengths", described(`${lanes} lanes`));
  if (autoreset === "nextStep")
    throw mustBe(TypeError, "writer", 'a writer without autoreset: "nextStep", because a pushed episode already contains its final step', writer);
  if (writer.episodeSteps > 0) throw new ReplayError("OUT_OF_TURN", `the writer has an open episode of ${writer.episodeSteps} steps. End it first`);
}
