/** Opens HDF5 files with robot demonstrations. An episode is a group or a file. */
import { integer, mustBe, onlyKeys } from "../../../base/error.ts";
import { MAX_SOURCE_BYTES } from "../../../base/file-limits.ts";
import { setPart } from "../../../schema/nest.ts";
import type { RldsStep, StepSpec } from "../../model/dataset.ts";
import { withSplits } from "../../model/episode-splits.ts";
import { finalStepSpec } from "../../model/final-step.ts";
import { corruptFile, RldsError, unsupportedFile } from "../../model/rlds-error.ts";
import { type About, nestedAbout } from "../about.ts";
import { rangeSteps, transitionSpecOf } from "../columns/episode-ranges.ts";
import { specDifference } from "../columns/spec-difference.ts";
import { stepSpecOf } from "../columns/transitions.ts";

import { decompressedSource } from "../compression/decompressed-source.ts";
import { addDamage, type Damage, damageOf, type SourceLoss, withDamage } from "../damage.ts";
import { parseJson } from "../json.ts";
import { AttributeTypes } from "../minari/attribute-types.ts";
import type { Attribute } from "../minari/episode-store.ts";
import { READ_OPTIONS, type ReadEpisode, type RldsReader, type Unread } from "../reader.ts";
import { nameSalvage } from "../reader-steps.ts";
import { selectReader } from "../selection/select-reader.ts";
import { Selection } from "../selection/selection.ts";
import type { Source } from "../sources/open-source.ts";
import { d3rlpyCount } from "./d3rlpy.ts";
import { ABOUT } from "./demo-layout.ts";
import type { Hdf5File } from "./hdf5-file.ts";
import { type ManiskillEpisodes, maniskillEpisodes } from "./maniskill-episodes.ts";
import { type Hdf5Options, openTarget } from "./open-file.ts";
import { alohaFiles, alohaPaths, type EpisodeFiles, oneFile } from "./robot-files.ts";
import { episodeGroups, hasObservations, type RobotFormat, robotEpisode, robotFormatOf, withoutObservations } from "./robot-layouts.ts";

/** The options of `openRobots`. */
export interface RobotOptions extends Hdf5Options {
  /** The filter in robomimic's `mask` that selects episodes, such as "train". Default: all episodes. */
  readonly split?: string;
}

/** Whether the attributes of the group of an episode are metadata of the episode. */
const HAS_ATTRIBUTES: { readonly [format in RobotFormat]: boolean } = { robomimic: true, maniskill: true, aloha: false, d3rlpy: false };

/**
 * Opens robot demonstrations that are stored in HDF5:
 * - files of robomimic, LIBERO, MimicGen and Isaac Lab (`data/demo_0`), whose `mask` contains splits that writeHdf5 keeps for each episode;
 * - files of robosuite, whose observations are the `states`;
 * - files of ManiSkill (`traj_0`), with the JSON file of the same name, whose seeds, control modes and successes become metadata of the episodes;
 * - files of ALOHA, each of which contains one episode, in a folder of `episode_0.hdf5` …;
 * - files of d3rlpy 2 (`observations_0`, `actions_0` …), but not of version 1, which are flat like those of D4RL.
 *
 * The final observation is read from `next_obs`. If there is one more observation than there are actions, the last observation is the final observation. In all
 * other cases, the last step is a transition. An episode terminated if `dones` or `terminated` is set in its last row. Otherwise, it was truncated. Missing
 * rewards are 0.
 *
 * Other values per step are metadata of the steps, and attributes are metadata of the episodes. `about` contains the shared attributes. Its `unread` lists the
 * paths that were not read. Keeps one episode in memory.
 * @throws RldsError NOT_FOUND if the file or folder does not exist
 * @throws RldsError CORRUPT if a file is damaged
 * @throws RldsError UNSUPPORTED if the layout of the file is unknown, if the file lacks the requested split, or if the package h5wasm is missing
 * @throws RldsError EMPTY if there are no episodes
 * @throws RldsError SPEC_MISMATCH if an episode differs in form from the first episode
 * @throws TypeError, RangeError if an option is invalid
 */
export async function openRobots<S = RldsStep>(from: Source, options: RobotOptions = {}): Promise<RldsReader<S>> {
  const { signal, fetch, maxBytes = MAX_SOURCE_BYTES } = parseOptions(options);
  const target = await decompressedSource(from, { signal, fetch, maxBytes });
  const { folder } = target;
  if (folder !== undefined) {
    const paths = await alohaPaths(folder);
    if (paths.length > 0) return (await robotsOf(alohaFiles(folder, paths, options), "aloha", options)) as RldsReader<unknown> as RldsReader<S>;
  }
  const found = await openTarget(target, [".hdf5", ".h5"], options);
  const { hdf5 } = found;
  let format: RobotFormat | undefined;
  try {
    format = await robotFormatOf(hdf5);
    if (format === undefined)
      throw unsupportedFile(
        { file: hdf5.name },
        "the file must contain data/demo_0 (robomimic), traj_0 (ManiSkill), actions_0 (d3rlpy), or action with observations/qpos (ALOHA)",
      );
  } catch (error) {
    await hdf5.close();
    throw error;
  }
  return (await robotsOf(oneFile(found, from, options), format, options)) as RldsReader<unknown> as RldsReader<S>;
}

function parseOptions(options: RobotOptions): RobotOptions {
  const known = onlyKeys("options", options, `split, h5wasm, fetch, ${READ_OPTIONS}`);
  if (known.split !== undefined && typeof known.split !== "string") throw mustBe(TypeError, "split", "the name of a filter", known.split);
  if (known.maxBytes !== undefined) integer("maxBytes", known.maxBytes, 1);
  return known;
}

interface EpisodePlace {
  readonly file: number;
  readonly group: string;
}

/** Opens the dataset in open files. If this fails, closes the files. @throws the errors of `openRobots` */
export async function robotsOf(files: EpisodeFiles, format: RobotFormat, options: RobotOptions): Promise<RldsReader> {
  try {
    parseOptions(options);
    const selection = new Selection(options);
    const reader = await RobotReader.of(files, format, { ...options, selection, losses: damageOf(options.salvage) });
    return nameSalvage(await selectReader(reader, selection));
  } catch (error) {
    await files.close();
    throw error;
  }
}

interface RobotReadOptions extends RobotOptions {
  readonly selection: Selection;
  readonly losses: Damage | undefined;
}

class RobotReader implements RldsReader {
  readonly format: RobotFormat;
  readonly name: string;
  readonly stepSpec: StepSpec;
  readonly metadataSpec: { readonly [name: string]: StepSpec };
  readonly episodes?: number;
  readonly losses?: readonly SourceLoss[];
  readonly lengths?: () => Promise<readonly number[]>;
  readonly startingAt?: (episode: number) => AsyncIterable<ReadEpisode>;
  readonly about: { readonly [key: string]: unknown };
  readonly splits?: readonly string[];
  readonly split?: string;
  readonly unread?: readonly Unread[];
  readonly #files: EpisodeFiles;
  readonly #places: readonly EpisodePlace[];
  readonly #attributes: AttributeTypes;
  readonly #episodes: ManiskillEpisodes | undefined;
  readonly #options: RobotReadOptions;
  /** The filters whose names are recorded as the splits of each episode. Undefined if splits are not recorded. */
  readonly #filters: Filters["splits"] | undefined;

  static async of(files: EpisodeFiles, format: RobotFormat, options: RobotReadOptions): Promise<RobotReader> {
    const { split, signal, losses, selection } = options;
    const first = await firstFile(files, losses);
    const masks = format === "robomimic" ? await filters(first, split, losses) : NO_FILTERS;
    const { splits } = masks;
    if (split !== undefined && !splits.has(split)) {
      const names = splits.size === 0 ? "It has no splits in mask" : `Its splits are ${[...splits.keys()].join(", ")}`;
      throw unsupportedFile({ file: first.name }, `the file has no split ${JSON.stringify(split)}. ${names}`);
    }
    const chosen = split === undefined ? undefined : splits.get(split);
    const places: EpisodePlace[] = [];
    const attributes = new AttributeTypes();
    for (let file = 0; file < files.count; file++) {
      const groups = format === "aloha" ? [""] : await episodeGroups(first, format);
      for (const group of groups.filter((path) => chosen === undefined || chosen.has(nameOf(path)))) {
        signal?.throwIfAborted();
        try {
          if (HAS_ATTRIBUTES[format]) attributes.add(await leafAttributes(first, group));
          places.push({ file, group });
        } catch (error) {
          addDamage(losses, error);
        }
      }
    }
    if (format === "d3rlpy") await checkCount(first, places.length, losses);
    const { hdf5, tree, unread } = await firstEpisode(files, format, places, { selection, losses, name: first.name });
    const json = format === "maniskill" ? await readJson(files, losses) : { unread: [] };
    const attributesOfAll = Object.entries(values(await leafAttributes(hdf5, format === "robomimic" ? "/data" : "/")));
    const about = {
      ...Object.fromEntries(attributesOfAll.map(([name, value]) => [name, plain(value)])),
      ...(format === "robomimic" && (await ownAbout(hdf5))),
    };
    const allUnread = [...unread, ...json.unread];
    const { episodes } = json;
    return new RobotReader({ files, format, places, attributes, episodes, options, masks }, stepSpecOf(transitionSpecOf(tree)), {
      ...episodes?.about,
      ...about,
      ...(allUnread.length > 0 && { unread: allUnread }),
    });
  }

  private constructor(
    parts: {
      readonly files: EpisodeFiles;
      readonly format: RobotFormat;
      readonly places: readonly EpisodePlace[];
      readonly attributes: AttributeTypes;
      readonly episodes: ManiskillEpisodes | undefined;
      readonly options: RobotReadOptions;
      readonly masks: Filters;
    },
    stepSpec: StepSpec,
    about: { readonly [key: string]: unknown },
  ) {
    const { files, format, places, attributes, episodes, options, masks } = parts;
    const { splits, unread } = masks;
    this.format = format;
    this.name = files.name;
    this.stepSpec = stepSpec;
    const attributeSpec = Object.fromEntries([...attributes.leaves].map(([name, { leaf }]) => [name, leaf]));
    this.metadataSpec = finalStepSpec({ ...episodes?.spec, ...attributeSpec });
    if (options.losses === undefined) {
      this.episodes = places.length;
      this.startingAt = (episode) => this.#from(integer("episode", episode, 0));
      this.lengths = () => this.#lengths();
    } else Object.assign(this, withDamage(options.losses));
    this.about = about;
    if (unread.length > 0) this.unread = unread;
    if (splits.size > 0) this.splits = [...splits.keys()];
    if (options.split !== undefined) this.split = options.split;
    this.#files = files;
    this.#places = places;
    this.#attributes = attributes;
    this.#episodes = episodes;
    this.#options = options;
    // Splits are not recorded if the option `split` is set, or if the only filter is `train` and contains all episodes, because these say nothing about a
    // single episode.
    const hasAll = splits.size === 1 && places.every(({ group }) => splits.get("train")?.has(nameOf(group)));
    if (options.split === undefined && splits.size > 0 && !hasAll) this.#filters = splits;
  }

  [Symbol.asyncIterator](): AsyncGenerator<ReadEpisode, void, undefined> {
    return this.#from(0);
  }

  async #lengths(): Promise<readonly number[]> {
    const lengths: number[] = [];
    for (const [episode, place] of this.#places.entries()) {
      const { range } = await this.#episode(place, episode);
      lengths.push(range.to + Number(range.finalStep));
    }
    return lengths;
  }

  async *#from(first: number): AsyncGenerator<ReadEpisode, void, undefined> {
    const { losses } = this.#options;
    for (let episode = first; episode < this.#places.length; episode++) {
      const place = this.#places[episode] as EpisodePlace;
      const whole = await this.#read(place, episode).catch((error) => {
        if (losses === undefined) throw error;
        losses.add(error);
      });
      if (whole !== undefined) yield whole;
    }
  }

  async #read(place: EpisodePlace, episode: number): Promise<ReadEpisode> {
    const { maxBytes = MAX_SOURCE_BYTES } = this.#options;
    const { tree, range, hdf5 } = await this.#episode(place, episode);
    const ended = await rangeSteps(tree, range, { file: hdf5.name, episode, maxBytes });
    const attributes = !HAS_ATTRIBUTES[this.format] ? new Map<string, Attribute>() : await leafAttributes(hdf5, place.group);
    const metadata = this.#episodes?.valuesAt(Number(place.group.slice(place.group.lastIndexOf("_") + 1)));
    const whole = { ...metadata, ...values(this.#attributes.conform(attributes)), ...ended };
    const name = nameOf(place.group);
    return this.#filters === undefined
      ? whole
      : withSplits(
          whole,
          [...this.#filters].filter(([, names]) => names.has(name)).map(([split]) => split),
        );
  }

  async #episode({ file, group }: EpisodePlace, episode: number) {
    this.#options.signal?.throwIfAborted();
    const hdf5 = await this.#files.open(file);
    const found = await robotEpisode(hdf5, this.format, group, this.#options.selection);
    const difference = specDifference(this.stepSpec, stepSpecOf(transitionSpecOf(found.tree)));
    if (difference !== undefined)
      throw new RldsError("SPEC_MISMATCH", `${group || hdf5.name} differs from the first episode: ${difference}`, { file: hdf5.name, episode });
    return { ...found, hdf5 };
  }

  close(): Promise<void> {
    return this.#files.close();
  }
}

/**
 * Checks that a d3rlpy file contains as many episodes as it declares. Records a difference in `losses`. @throws RldsError CORRUPT if the numbers differ and
 * `losses` is undefined
 */
async function checkCount(hdf5: Hdf5File, found: number, losses: Damage | undefined): Promise<void> {
  const count = await d3rlpyCount(hdf5);
  if (count === undefined || count === found) return;
  const error = corruptFile({ file: hdf5.name }, `the file declares ${count} episodes, but contains ${found}`);
  if (losses === undefined) throw error;
  losses.add(error);
}

/** Reads the JSON file next to the trajectories. If the file cannot be read, lists it as unread, so that the trajectories can still be read. */
async function readJson(
  files: EpisodeFiles,
  losses: Damage | undefined,
): Promise<{ readonly episodes?: ManiskillEpisodes; readonly unread: readonly string[] }> {
  const file = await files.openJson?.();
  if (file === undefined) return { unread: [] };
  try {
    const episodes = await maniskillEpisodes(file);
    return { ...(episodes && { episodes }), unread: [] };
  } catch (error) {
    if (!(error instanceof RldsError)) throw error;
    if (error.code === "CORRUPT") losses?.add(error);
    return { unread: [file.name] };
  } finally {
    await file.close();
  }
}

/** Returns the first file. If `losses` is set, returns the first file that can be opened, and records the damage of earlier files. */
async function firstFile(files: EpisodeFiles, losses: Damage | undefined): Promise<Hdf5File> {
  for (let i = 0; ; i++) {
    try {
      return await files.open(i);
    } catch (error) {
      if (i >= files.count - 1) throw error;
      addDamage(losses, error);
    }
  }
}

/** Returns whether any episode has observations, or cannot be read, in which case it may have observations. */
async function someObservations(files: EpisodeFiles, format: RobotFormat, places: readonly EpisodePlace[]): Promise<boolean> {
  for (const { file, group } of places) {
    const has = await files
      .open(file)
      .then((hdf5) => hasObservations(hdf5, format, group))
      .catch(() => true);
    if (has) return true;
  }
  return false;
}

/** Returns the first episode. If `losses` is set, returns the first episode that can be read, and records the damage of earlier episodes. */
async function firstEpisode(
  files: EpisodeFiles,
  format: RobotFormat,
  places: readonly EpisodePlace[],
  { selection, losses, name }: { readonly selection: Selection; readonly losses: Damage | undefined; readonly name: string },
) {
  for (const [i, { file, group }] of places.entries()) {
    try {
      const hdf5 = await files.open(file);
      return { hdf5, ...(await robotEpisode(hdf5, format, group, selection)) };
    } catch (error) {
      if (i === 0 && !(await someObservations(files, format, places))) throw withoutObservations(format, name);
      if (i === places.length - 1) throw error;
      addDamage(losses, error);
    }
  }
  throw new RldsError("EMPTY", "the dataset has no episodes", { file: name });
}

/** Returns the attributes of a group, except `steps`, because an episode uses this name for its steps. */
async function leafAttributes(hdf5: Hdf5File, path: string): Promise<Map<string, Attribute>> {
  const attributes = await hdf5.attributes(path === "" ? "/" : path);
  attributes.delete("steps");
  return attributes;
}

function values(attributes: ReadonlyMap<string, Attribute>): { readonly [name: string]: unknown } {
  const all = {};
  for (const [name, { leaf, data }] of attributes) setPart(all, name, leaf.shape.length > 0 ? data : leaf.dtype === "bool" ? data[0] === 1 : data[0]);
  return all;
}

/** Returns the metadata that writeHdf5 stored in the file, or an empty object for other files. */
async function ownAbout(hdf5: Hdf5File): Promise<About> {
  if ((await hdf5.entry(ABOUT)) !== "dataset") return {};
  const { leaf, rows, read } = await hdf5.column(ABOUT);
  if (leaf.dtype !== "string" || rows !== 1) return {};
  try {
    return nestedAbout(parseJson(String((await read(0, 1))[0])));
  } catch {
    return {};
  }
}

/** Converts a bigint to a number if the number is exact, so that JSON can represent it. Returns any other value unchanged. */
function plain(value: unknown): unknown {
  return typeof value === "bigint" && Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

/** Returns the last part of a group's path, such as `demo_0` for `data/demo_0`. */
function nameOf(group: string): string {
  return group.slice(group.lastIndexOf("/") + 1);
}

/** The filters of `mask`. Each filter is a list of episode names. */
interface Filters {
  readonly splits: ReadonlyMap<string, ReadonlySet<string>>;
  /** The entries of `mask` that are not lists of episode names. */
  readonly unread: readonly Unread[];
}

const NO_FILTERS: Filters = { splits: new Map(), unread: [] };

/**
 * Returns the filters in `mask`.
 * @param split the filter that the options select. Other filters that cannot be read are listed as unread
 * @throws RldsError CORRUPT if the selected filter is damaged
 * @throws RldsError UNSUPPORTED if the selected filter is not a list of names
 */
async function filters(hdf5: Hdf5File, split: string | undefined, losses: Damage | undefined): Promise<Filters> {
  if ((await hdf5.entry("/mask")) !== "group") return NO_FILTERS;
  const splits = new Map<string, ReadonlySet<string>>();
  const unread: Unread[] = [];
  for (const name of await hdf5.names("/mask")) {
    try {
      const { rows = 0, read, leaf } = await hdf5.column(`/mask/${name}`);
      if (leaf.dtype !== "string") throw unsupportedFile({ file: hdf5.name }, `mask/${name} is not a list of names`);
      splits.set(name, new Set((await read(0, rows)) as readonly string[]));
    } catch (error) {
      if (!(error instanceof RldsError) || name === split) throw error;
      unread.push({ what: `mask/${name}`, remedy: error.code === "UNSUPPORTED" ? "it is not a list of names of episodes" : "it is damaged" });
      if (error.code === "CORRUPT") losses?.add(error);
    }
  }
  return { splits, unread };
}
