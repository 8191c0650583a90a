/** Builds the pipeline of `reprise edit` from the functions of reprise/rlds. */

import {
  castLeaves,
  concatEpisodes,
  type FilmSource,
  type Films,
  filterWhere,
  type ImportReport,
  type RldsDataset,
  type RldsReader,
  resampleSteps,
  swapChannels,
  withFilmNumbers,
  withFilmPixels,
  withFinalObservations,
  withTask,
} from "../../datasets/rlds/index.ts";
import { importFrom } from "../dataset.ts";
import { UsageError } from "../exit.ts";
import { type EpisodeNumbers, EpisodeSet, selectSets } from "../program-parts.ts";
import type { Host } from "../result.ts";
import { decodeFrames } from "./ffmpeg.ts";
import { dtypesOf, type EditOptions, tasksOf } from "./options.ts";

export interface EditedDataset {
  readonly data: RldsDataset;
  /** Returns the import report of each source, in order. Each report is complete only after the data has been iterated. */
  readonly reports: () => readonly ImportReport[];
  /** Returns the number of episodes so far whose last transition was left out. */
  readonly dropped: () => number;
}

export interface PassSettings {
  readonly options: EditOptions;
  /** The numbers of the flagged episodes, which are left out of the first source. */
  readonly flagged: readonly number[];
  /** Whether the steps refer to the films of all sources, joined in one dataset. */
  readonly joinsFilms: boolean;
  /** The paths of the films that are decoded to pixels and encoded again. */
  readonly encoded: readonly string[];
  readonly host: Host;
  /** Called for each episode that is read from a source. */
  readonly onEpisode: () => void;
}

export function editedDataset(sources: readonly FilmSource[], { options, flagged, joinsFilms, encoded, host, onEpisode }: PassSettings): EditedDataset {
  const parts = sources.map(({ name, reader }, k) => {
    const read = countedEpisodes(reader, onEpisode);
    const chosen = k === 0 ? chosenEpisodes(read, options, flagged) : read;
    const tasks = taskRules(options.task ?? [], reader, k === 0);
    const imported = importFrom({ ...reader, [Symbol.asyncIterator]: () => chosen[Symbol.asyncIterator]() } as RldsReader, options, host);
    const { finalStep } = options;
    const stated = withFinalObservations(imported, { ...(finalStep !== undefined && { finalStep }), repeat: false });
    const changed = changedSteps(stated, { name, reader }, { options, encoded, tasks });
    return { imported, stated, data: joinsFilms ? (withFilmNumbers(changed, sources, k) as RldsDataset) : changed };
  });
  const [first] = parts as [(typeof parts)[0]];
  const joined =
    parts.length === 1
      ? first.data
      : concatEpisodes(
          parts.map(({ data }) => data),
          { names: sources.map(({ name }) => name) },
        );
  const data = options.where === undefined ? joined : filterWhere(joined, ...options.where);
  return {
    data: data as RldsDataset,
    reports: () => parts.map(({ imported }) => imported.report),
    dropped: () => parts.reduce((sum, { stated }) => sum + stated.finalSteps.dropped, 0),
  };
}

type Episodes = AsyncIterable<never> & RldsDataset;

function countedEpisodes(reader: RldsReader, onEpisode: () => void): Episodes {
  const counted = async function* (episodes: AsyncIterable<unknown>) {
    for await (const episode of episodes) {
      onEpisode();
      yield episode;
    }
  };
  const { startingAt, stepSpec, metadataSpec } = reader;
  return {
    ...{ stepSpec, metadataSpec },
    ...(startingAt !== undefined && { startingAt: (episode: number) => counted(startingAt.call(reader, episode)) }),
    [Symbol.asyncIterator]: () => counted(reader),
  } as never;
}

/** Returns the episodes that the options select. @throws RangeError if an option is not a valid set of episode numbers */
function chosenEpisodes(data: Episodes, { episodes, dropEpisodes }: EditOptions, flagged: readonly number[]): Episodes {
  if (episodes === undefined && dropEpisodes === undefined && flagged.length === 0) return data;
  const setsOf = (subject: string, numbers: EpisodeNumbers | undefined) => (numbers === undefined ? [] : [new EpisodeSet(subject, numbers)]);
  const [kept] = setsOf("episodes", episodes);
  return selectSets(data, kept, [...setsOf("dropEpisodes", dropEpisodes), ...setsOf("--flags", flagged)]) as Episodes;
}

interface Changes {
  readonly options: EditOptions;
  readonly encoded: readonly string[];
  readonly tasks: readonly TaskRule[];
}

function changedSteps(data: RldsDataset, { name, reader }: FilmSource, { options, encoded, tasks }: Changes): RldsDataset {
  const { cast, swapChannels: images, resampleFps, sourceFps } = options;
  let changed: RldsDataset<unknown> = data;
  if (cast !== undefined) changed = castLeaves(changed, dtypesOf(cast));
  if (resampleFps !== undefined) changed = resampleSteps(changed, { fps: resampleFps, ...rateOf(reader, sourceFps) });
  // Films are decoded after the steps are resampled, so that frames of omitted steps are not decoded.
  if (encoded.length > 0) changed = withFilmPixels(changed, { films: reader.films as Films, paths: encoded, decode: (frames) => decodeFrames(name, frames) });
  if (images !== undefined) changed = swapChannels(changed, images);
  if (tasks.length > 0) changed = withTask(changed, (_, number) => tasks.find(({ set }) => set?.has(number) ?? true)?.text);
  return changed as RldsDataset;
}

interface TaskRule {
  /** The episodes to which the task applies. Undefined for all episodes. */
  readonly set: EpisodeSet | undefined;
  readonly text: string;
}

/**
 * Returns the task rules in order of precedence. Rules for some episodes precede rules for all episodes, and later rules precede earlier rules.
 * @param isFirst whether the dataset is the first source, to which the episode numbers refer
 * @throws RangeError if episode numbers are invalid or do not exist
 * @throws UsageError if several tasks are set for all episodes
 */
function taskRules(texts: readonly string[], { episodes: count }: RldsReader, isFirst: boolean): readonly TaskRule[] {
  const tasks = tasksOf(texts);
  const all = tasks.filter(({ episodes }) => episodes === undefined);
  if (all.length > 1) throw new UsageError(`--task is set ${all.length} times for all episodes. Pass it once, or with episode numbers: --task "0-9=TEXT"`);
  const some = tasks.flatMap(({ episodes, text }) => (episodes === undefined ? [] : [{ set: new EpisodeSet("--task", isFirst ? episodes : []), text }]));
  if (isFirst && count !== undefined) for (const { set } of some) set.check(count);
  return [...some.reverse(), ...all.map(({ text }) => ({ set: undefined, text }))];
}

function rateOf({ about }: RldsReader, sourceFps: number | undefined): { readonly sourceFps?: number } {
  const fps = sourceFps ?? about.fps;
  return typeof fps === "number" && fps > 0 ? { sourceFps: fps } : {};
}
