/** Recorded episodes into tables of transitions: what a writer's rules make of them. */
import { codeOf, mustBe, onlyKeys, ReplayError } from "../../../base/error.ts";
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
  /** Where steps have leaves that the writer's spec calls otherwise: `{ obs: "observation", "info.mask": "action_mask" }`. */
  readonly fields?: StepFields;
  /** What becomes of each episode's last step. Default: what the episode states; the last observation is repeated where an episode has no final one. */
  readonly finalStep?: FinalStepRule;
}

/** What was pushed. */
export interface PushedEpisodes {
  readonly episodes: number;
  /** Those that begin a transition: all but final observations. */
  readonly steps: number;
  readonly terminated: number;
  readonly truncated: number;
  /** Episodes whose last observation was repeated as the final one, since the data has none. */
  readonly repeated: number;
  /** Episodes whose last transition was left out, with `finalStep: "drop"`. */
  readonly dropped: number;
  /** How many the writer's rules made. Undefined for a remote writer, whose rules are where the memory is. */
  readonly items: number | undefined;
}

/**
 * Appends every episode to a writer, whose rules make items of it: with `nStep` the transitions that `table.transitions` reads. The last step terminates its episode
 * where `is_terminal` is true; else the episode was truncated. If that step is a final observation, it becomes the final step, and its action, reward and discount are not read. If it is a
 * transition, it is pushed as one, and its observation is repeated as the final one. A final observation alone has no transition and is left out.
 *
 * The leaves of the writer's spec are taken from the steps by their names, or from `fields`; steps may have more. An episode is read and checked as a whole before any of it
 * is appended. Waits where items wait for a rate limiter, which `signal` ends. After an error all episodes before it are there; the one that could not be appended whole may
 * be open in the writer, as far as it came. Memory: an episode. O(bytes)
 * @throws RldsError SPEC_MISMATCH that names the leaf, before anything is pushed where the data has a `stepSpec` · INVALID_DATA for flags in the wrong place, and what a
 * writer refuses · EMPTY where there is no transition · RATE_LIMITED where a table lets nothing in and nothing wait · ReplayError OUT_OF_TURN where the writer's episode is
 * open · TypeError for a writer of several lanes
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
  if (steps === 0) throw number === 0 ? noSteps() : new RldsError("EMPTY", "no episode of the data has two steps, which a transition needs");
  await flushWriter(columnWriter, signal);
  return { episodes: terminated + truncated, steps, terminated, truncated, repeated, dropped: finalSteps.dropped, items: rules && items };
}

/** What a writer here and one across a port have alike. */
interface ColumnWriter {
  /** Gives a promise where the way across a port is full. */
  appendColumns(columns: unknown, options?: object): Promise<void> | number | undefined;
  flush(options?: WaitOptions): Promise<void> | undefined;
}

/** Appends episodes in blocks of columns, smaller ones where so many items may not wait. */
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
        if (typeof pending === "object") await abortable(pending, "room for steps at the other end of the port", { signal });
        // Items that wait there are waited for there.
        if (!isRemote) await flushWriter(writer, signal);
      } catch (error) {
        if (isRemote || from === to || codeOf(error) !== "RATE_LIMITED") throw error;
        if (await flushWriter(writer, signal)) continue;
        if (to - from === 1)
          throw new ReplayError("RATE_LIMITED", "a table's rate limiter blocks the item, and maxPending leaves no room for it to wait: raise maxPending");
        maxRows = (to - from) >> 1;
      }
    }
  };
}

/** Waits until no item waits. @returns whether one did */
async function flushWriter(writer: ColumnWriter, signal: AbortSignal | undefined): Promise<boolean> {
  const wait = writer.flush({ signal });
  await wait;
  return wait !== undefined;
}

/** How an episode ends with the last of so many rows. */
function endsOf({ terminated }: EpisodeColumns, rows: number): { readonly terminated: Uint8Array; readonly truncated: Uint8Array } {
  const flags = { terminated: new Uint8Array(rows), truncated: new Uint8Array(rows) };
  flags[terminated ? "terminated" : "truncated"][rows - 1] = 1;
  return flags;
}

/** Items that a rule makes of an episode whose last row begins none. */
function itemsOf({ nStep, length, stride }: ResolvedRule, rows: number): number {
  if (nStep > 0) return rows - 1;
  const lastStep = length === 1 ? rows - 1 : rows;
  return lastStep < length ? 0 : Math.floor((lastStep - length) / stride) + 1;
}

/** @throws TypeError, ReplayError OUT_OF_TURN */
function mustTake(writer: Writer | RemoteWriter): void {
  const { appendColumns, spec } = (writer ?? {}) as Partial<Writer>;
  if (typeof appendColumns !== "function" || spec === undefined) throw mustBe(TypeError, "writer", "a writer, of replay.writer or remoteWriter", writer);
  const { lanes, autoreset } = "options" in writer ? writer.options : { lanes: writer.lanes, autoreset: "disabled" };
  if (lanes > 1) throw mustBe(TypeError, "writer", `of one lane (it has ${lanes}), since episodes are of different lengths`, writer);
  if (autoreset === "nextStep") throw mustBe(TypeError, "writer", 'without autoreset: "nextStep", since episodes end with their own last step', writer);
  if (writer.episodeSteps > 0) throw new ReplayError("OUT_OF_TURN", `the writer has an open episode of ${writer.episodeSteps} steps. End it first`);
}
