/** Opens Minari datasets, which have one HDF5 group or Parquet table per episode, and metadata.json. */
import { integer, onlyKeys } from "../../../base/error.ts";
import { MAX_SOURCE_BYTES } from "../../../base/file-limits.ts";
import { sizeOf } from "../../../schema/leaf.ts";
import type { RldsStep, StepSpec } from "../../model/dataset.ts";
import { FINAL_STEP, FINAL_STEP_LEAF } from "../../model/final-step.ts";
import { type LeafEntry, leavesOf } from "../../model/leaves.ts";
import { corruptFile, RldsError, unsupportedFile } from "../../model/rlds-error.ts";
import type { ColumnData } from "../../model/step-columns.ts";
import { absentReward } from "../columns/absent-fields.ts";
import { type Column, columnsOf, rowSpec } from "../columns/column.ts";
import { specDifference } from "../columns/spec-difference.ts";
import { type EndedSteps, episodeSteps, stepSpecOf, type TransitionSpec } from "../columns/transitions.ts";
import { addDamage, type Damage, damageOf, type SourceLoss, withDamage } from "../damage.ts";
import { type Hdf5Options, type Hdf5Source, openHdf5 } from "../hdf5/open-file.ts";
import { READ_OPTIONS, type ReadEpisode, type RldsReader, type Unread } from "../reader.ts";
import { nameSalvage } from "../reader-steps.ts";
import { selectReader } from "../selection/select-reader.ts";
import { Selection } from "../selection/selection.ts";
import { type Source, sourceOf } from "../sources/open-source.ts";
import { openIfExists, type SourceFolder } from "../sources/source.ts";
import { AttributeTypes } from "./attribute-types.ts";
import type { Attribute, EpisodeStore } from "./episode-store.ts";
import { type Space, spaceOf, withPixels } from "./images.ts";
import { unnestedAbout } from "./known-about.ts";
import { metadataOf } from "./metadata.ts";
import { isReadColumn, ParquetStore } from "./parquet-store.ts";

export interface MinariOptions extends Hdf5Options {
  /** Whether the steps contain the environment's `infos`. Default: false. */
  readonly infos?: boolean;
}

/** The options for reading an episode, with the spaces from the metadata. */
interface EpisodeReadOptions extends MinariOptions {
  readonly spaces: { readonly observation?: Space; readonly action?: Space };
  readonly selection: Selection;
  readonly losses: Damage | undefined;
}

/** An episode that has not been read yet. */
interface EpisodeSource {
  readonly transition: TransitionSpec;
  readonly columns: readonly Column[];
  readonly terminations: Column;
  /** The number of actions. */
  readonly length: number;
}

/**
 * Opens a Minari dataset in HDF5 or Parquet, from its folder (`cartpole/scripted-v0`), a folder that contains only this dataset, or its `main_data.hdf5`.
 *
 * The T actions of an episode become T + 1 steps. The last step has the final observation and zeros. Its `is_terminal` is set if the environment terminated.
 * The dtypes are those of the file. Images that are stored as JPEG become pixels (u8) if metadata.json declares them. Values of dictionary and tuple spaces are
 * nested. Keeps one episode in memory.
 * @throws RldsError NOT_FOUND if the file or folder does not exist
 * @throws RldsError CORRUPT if a file is damaged
 * @throws RldsError UNSUPPORTED if a space cannot be read, or if the package h5wasm or hyparquet is missing
 * @throws RldsError EMPTY if there are no episodes
 * @throws RldsError SPEC_MISMATCH if an episode differs in form from the first episode
 */
export async function openMinari<S = RldsStep>(from: Source, options: MinariOptions = {}): Promise<RldsReader<S>> {
  checkOptions(options);
  const reader = await openHdf5(from, ["data/main_data.hdf5", "main_data.hdf5"], options).then(
    (source) => minariOf(source, options),
    async (error) => {
      if (!(error instanceof RldsError && error.code === "NOT_FOUND")) throw error;
      const reader = await minariOfParquet(from, options);
      if (reader === undefined) throw error;
      return reader;
    },
  );
  return reader as RldsReader<unknown> as RldsReader<S>;
}

const METADATA = "metadata.json";

/** Opens the Parquet form. Returns undefined if the source has no Minari metadata. @throws RldsError UNSUPPORTED for any other form, or for several datasets */
async function minariOfParquet(from: Source, options: MinariOptions): Promise<RldsReader | undefined> {
  const { signal, fetch, maxBytes = MAX_SOURCE_BYTES, infos = false } = options;
  const { folder } = await sourceOf(from, { signal, fetch, maxBytes });
  if (folder === undefined) return undefined;
  const base = await baseOf(folder);
  const about = await metadataOf(folder, `${base}${METADATA}`);
  const { data_format: dataFormat, total_episodes: episodes } = about;
  if (dataFormat === undefined) return undefined;
  if (dataFormat !== "parquet") throw dataFormatError(dataFormat, `${base}${METADATA}`);
  const spaces = spacesOf(about, `${base}${METADATA}`);
  const episodeCount = Number.isSafeInteger(episodes) ? (episodes as number) : 0;
  const selection = new Selection(options);
  const store = await ParquetStore.of(folder, base, { maxBytes, signal, infos, spaces, episodes: episodeCount, selection });
  return readerOf(store, about, { ...options, spaces, selection, losses: damageOf(options.salvage) });
}

/** Returns the path of the folder that contains the metadata. */
async function baseOf(folder: SourceFolder): Promise<string> {
  const paths = await folder.list();
  if (paths === undefined) {
    const file = await openIfExists(folder, `data/${METADATA}`);
    await file?.close();
    return file === undefined ? "" : "data/";
  }
  if (paths.includes(METADATA)) return "";
  const metadataPaths = paths.filter((path) => path === `data/${METADATA}` || path.endsWith(`/data/${METADATA}`));
  if (metadataPaths.length > 1)
    throw unsupportedFile({ file: folder.name }, `the folder has ${metadataPaths.length} datasets (${metadataPaths.slice(0, 4).join(", ")}). Open one of them`);
  return metadataPaths[0]?.slice(0, -METADATA.length) ?? "";
}

function dataFormatError(dataFormat: unknown, file: string): RldsError {
  return unsupportedFile({ file }, `the dataset has the data_format ${JSON.stringify(dataFormat)}, but Reprise reads only hdf5 and parquet`);
}

function spacesOf({ observation_space, action_space }: { readonly [key: string]: unknown }, file: string): EpisodeReadOptions["spaces"] {
  return { observation: spaceOf(observation_space, file), action: spaceOf(action_space, file) };
}

function checkOptions(options: MinariOptions): void {
  onlyKeys("options", options, `infos, h5wasm, fetch, ${READ_OPTIONS}`);
}

/** Opens the Minari dataset in an open file. Closes the file if it is not a Minari dataset, or if an option is invalid. */
export async function minariOf({ hdf5, folder, path }: Hdf5Source, options: MinariOptions): Promise<RldsReader> {
  try {
    checkOptions(options);
    const file = `${path?.slice(0, path.lastIndexOf("/") + 1)}${METADATA}`;
    const about = folder === undefined ? {} : await metadataOf(folder, file);
    const { data_format: dataFormat = "hdf5" } = about;
    if (dataFormat !== "hdf5") throw dataFormatError(dataFormat, file);
    const selection = new Selection(options);
    return await readerOf(hdf5, about, { ...options, spaces: spacesOf(about, hdf5.name), selection, losses: damageOf(options.salvage) });
  } catch (error) {
    await hdf5.close();
    throw error;
  }
}

async function readerOf(store: EpisodeStore, about: { readonly [key: string]: unknown }, options: EpisodeReadOptions): Promise<RldsReader> {
  return nameSalvage(await selectReader(await MinariReader.of(store, about, options), options.selection));
}

class MinariReader implements RldsReader {
  readonly format = "minari";
  readonly name: string;
  readonly stepSpec: StepSpec;
  readonly metadataSpec: { readonly [name: string]: StepSpec };
  readonly episodes?: number;
  readonly steps?: number;
  readonly losses?: readonly SourceLoss[];
  readonly about: { readonly [key: string]: unknown };
  readonly unread: readonly Unread[];
  /** Returns the lengths of the episodes. Undefined for Parquet: only HDF5 states them separately, in the header of each episode's `terminations`. */
  readonly lengths?: () => Promise<number[]>;
  readonly #store: EpisodeStore;
  /** The names of the groups, in the order of the episodes. */
  readonly #groups: readonly string[];
  readonly #transition: TransitionSpec;
  readonly #attributes: AttributeTypes;
  readonly #options: EpisodeReadOptions;

  private constructor(
    store: EpisodeStore,
    groups: readonly string[],
    first: EpisodeSource,
    attributes: AttributeTypes,
    about: { readonly [key: string]: unknown },
    hasUnreadInfos: boolean,
    options: EpisodeReadOptions,
  ) {
    this.#store = store;
    this.#groups = groups;
    this.#transition = first.transition;
    this.#options = options;
    this.stepSpec = stepSpecOf(first.transition);
    this.#attributes = attributes;
    const metadataSpec = nestAttributes(attributes.leaves, ({ leaf }) => leaf) as { readonly [name: string]: StepSpec };
    this.metadataSpec = { ...metadataSpec, [FINAL_STEP]: FINAL_STEP_LEAF };
    Object.assign(this, withDamage(options.losses));
    if (options.losses === undefined) this.episodes = groups.length;
    if (options.losses === undefined && typeof about.total_steps === "number" && about.total_episodes === groups.length)
      this.steps = about.total_steps + groups.length;
    this.name = typeof about.dataset_id === "string" ? about.dataset_id : store.name;
    this.about = unnestedAbout(about);
    this.unread = hasUnreadInfos ? [{ what: "infos", remedy: "the option infos=true reads them" }] : [];
    if (!(store instanceof ParquetStore) && options.losses === undefined) this.lengths = () => this.#lengths();
  }

  static async of(store: EpisodeStore, about: { readonly [key: string]: unknown }, options: EpisodeReadOptions): Promise<MinariReader> {
    const { losses } = options;
    const groups = (await store.names("/")).filter((name) => /^episode_\d+$/.test(name)).sort((a, b) => numberOf(a) - numberOf(b));
    const [group] = groups;
    if (group === undefined) throw new RldsError("EMPTY", "the dataset has no episodes: no group is named episode_0", { file: store.name });
    let first: EpisodeSource | undefined;
    for (const [episode, name] of groups.entries()) {
      try {
        first = await findColumns(store, name, episode, options);
        break;
      } catch (error) {
        if (episode === groups.length - 1) throw error;
        addDamage(losses, error);
      }
    }
    if (first === undefined) throw new RldsError("EMPTY", "the dataset has no readable episodes", { file: store.name });
    const hasUnreadInfos = options.infos !== true && (await store.hasInfos(group));
    return new MinariReader(store, groups, first, await attributeTypes(store, groups, options.signal), about, hasUnreadInfos, options);
  }

  [Symbol.asyncIterator](): AsyncGenerator<ReadEpisode, void, undefined> {
    return this.#from(0);
  }

  startingAt(episode: number): AsyncIterable<ReadEpisode> {
    return this.#from(integer("episode", episode, 0));
  }

  async #lengths(): Promise<number[]> {
    const lengths: number[] = [];
    for (const group of this.#groups) {
      this.#options.signal?.throwIfAborted();
      lengths.push(((await this.#store.column(`/${group}/terminations`)).rows ?? 0) + 1);
    }
    return lengths;
  }

  async *#from(first: number): AsyncGenerator<ReadEpisode, void, undefined> {
    for (let episode = first; episode < this.#groups.length; episode++) {
      const group = this.#groups[episode] as string;
      this.#options.signal?.throwIfAborted();
      const { losses } = this.#options;
      const whole = await this.#episode(group, episode).catch((error) => {
        if (losses === undefined) throw error;
        losses.add(error);
      });
      if (whole !== undefined) yield whole;
    }
  }

  async #episode(group: string, episode: number): Promise<ReadEpisode> {
    const ended = await this.#steps(group, episode);
    const metadata = nestAttributes(this.#attributes.conform(await this.#store.attributes(`/${group}`)), readAttribute);
    return { ...metadata, ...ended };
  }

  close(): Promise<void> {
    return this.#store.close();
  }

  async #steps(group: string, episode: number): Promise<EndedSteps> {
    const { transition, columns, terminations, length } = await findColumns(this.#store, group, episode, this.#options);
    const difference = specDifference(this.#transition, transition);
    if (difference !== undefined)
      throw new RldsError("SPEC_MISMATCH", `${group} differs from the first episode: ${difference}`, { file: this.#store.name, episode });
    const data: ColumnData[] = [];
    for (const column of columns) data.push(await column.read(0, column.rows as number));
    const terminated = await terminations.read(0, length);
    return episodeSteps(transition, { data, length, finalStep: true, ending: terminated[length - 1] === 1 ? "terminated" : "truncated", terminated });
  }
}

/** The maximum number of concurrent requests. The Parquet form has one metadata file per episode, which may be remote. */
const PARALLEL = 16;

/** Determines the types of the attributes from all episodes, because later episodes may have larger seeds, and only a few episodes may have options. */
async function attributeTypes(store: EpisodeStore, groups: readonly string[], signal?: AbortSignal): Promise<AttributeTypes> {
  const types = new AttributeTypes();
  for (let from = 0; from < groups.length; from += PARALLEL) {
    signal?.throwIfAborted();
    const read = groups.slice(from, from + PARALLEL).map((group) =>
      store.attributes(`/${group}`).catch((error) => {
        // An error in the first episode is thrown immediately. An error in any other episode is thrown when that episode is read.
        if (from === 0 && group === groups[0]) throw error;
        return new Map<string, Attribute>();
      }),
    );
    for (const attributes of await Promise.all(read)) types.add(attributes);
  }
  return types;
}

const numberOf = (group: string) => Number(group.slice("episode_".length));

/** Returns the columns of an episode, whose lengths must match. */
async function findColumns(store: EpisodeStore, group: string, episode: number, { infos, spaces, selection }: EpisodeReadOptions): Promise<EpisodeSource> {
  const file = store.name;
  const keeps = (path: string) => isReadColumn(path.split("/").slice(2), selection);
  const terminations = await store.column(`/${group}/terminations`);
  const [observation, action, reward] = [
    withPixels(await store.tree(`/${group}/observations`, keeps), spaces.observation, file, store.maxBytes),
    withPixels(await store.tree(`/${group}/actions`, keeps), spaces.action, file, store.maxBytes),
    keeps(`/${group}/rewards`) && (await store.entry(`/${group}/rewards`)) !== undefined
      ? await store.column(`/${group}/rewards`)
      : absentReward(terminations.rows ?? 0),
  ];
  const withInfos = infos === true && (await store.entry(`/${group}/infos`)) === "group";
  const info = withInfos ? await store.tree(`/${group}/infos`, keeps) : {};
  const tree = { observation, action, reward, ...(columnsOf(info).length > 0 ? { infos: info } : {}) };
  const columns = columnsOf(tree);
  const length = reward.rows ?? 0;
  const transition = rowSpec(tree) as unknown as TransitionSpec;
  leavesOf(transition).forEach(({ path, keys }: LeafEntry, i) => {
    const { rows } = columns[i] as Column;
    const max = keys[0] === "observation" || keys[0] === "infos" ? length + 1 : length;
    if (rows !== max && !(keys[0] === "infos" && rows === length))
      throw corruptFile({ file, episode }, `${group} has ${rows ?? "no"} rows of ${path}, but needs ${max} for its ${length} rewards`);
  });
  if (columnsOf(observation).length === 0 || columnsOf(action).length === 0)
    throw corruptFile({ file, episode }, `${group} must have columns for observations and actions`);
  if (terminations.rows !== length || terminations.leaf.dtype !== "bool" || sizeOf(terminations.leaf.shape) !== 1)
    throw corruptFile({ file, episode }, `${group}/terminations must have one boolean per reward`);
  const bytes = columns.reduce((sum, { rows, rowBytes }) => sum + (rows as number) * rowBytes, 0);
  if (bytes > store.maxBytes)
    throw corruptFile({ file, episode }, `${group} takes ${bytes} bytes, more than the ${store.maxBytes} that maxBytes allows. Increase maxBytes`);
  return { transition, columns, terminations, length };
}

/** Nests the attributes that Minari flattened to names such as `options/gravity`. `steps` is left out, because this name is reserved in an episode. */
function nestAttributes<A extends Pick<Attribute, "leaf">>(attributes: ReadonlyMap<string, A>, of: (attribute: A) => unknown): { [name: string]: unknown } {
  const top = Object.create(null) as { [name: string]: unknown };
  for (const [name, attribute] of attributes) {
    const keys = name.split("/");
    let at = top;
    for (const key of keys.slice(0, -1)) {
      const next = at[key];
      at[key] = typeof next === "object" && next !== null && !("dtype" in next) && !ArrayBuffer.isView(next) ? next : Object.create(null);
      at = at[key] as { [name: string]: unknown };
    }
    at[keys.at(-1) as string] = of(attribute);
  }
  delete top.steps;
  return { ...top };
}

/** Returns a metadata value of an episode, in the same form as a value in StepColumns. */
function readAttribute({ leaf, data }: Attribute): unknown {
  if (leaf.shape.length > 0) return data;
  return leaf.dtype === "bool" ? data[0] === 1 : data[0];
}
