/** Opens Zarr stores of demonstrations in the layout of diffusion_policy, which has arrays over all steps and an array with the ends of the episodes. */
import { integer, onlyKeys } from "../../../base/error.ts";
import { MAX_SOURCE_BYTES } from "../../../base/file-limits.ts";
import type { Fetch } from "../../../base/host.ts";
import type { RldsStep, StepSpec } from "../../model/dataset.ts";
import { finalStepSpec } from "../../model/final-step.ts";
import { corruptFile, RldsError, withRemedy } from "../../model/rlds-error.ts";
import { type Column, columnsOf } from "../columns/column.ts";
import { type EpisodeRange, rangeSteps, type TransitionTree, transitionSpecOf } from "../columns/episode-ranges.ts";
import { rowsOf } from "../columns/flat.ts";
import { stepSpecOf } from "../columns/transitions.ts";
import { decompressedSource } from "../compression/decompressed-source.ts";
import { type Damage, damageOf, type SourceLoss, withDamage } from "../damage.ts";
import { checkLeafCount } from "../leaf-count.ts";
import { MemoryBudget } from "../memory-budget.ts";
import { type EpisodeMetadata, episodeMetadata } from "../npz/metadata.ts";
import { READ_OPTIONS, type ReadEpisode, type ReadOptions, type RldsReader } from "../reader.ts";
import { Selection } from "../selection/selection.ts";
import type { Source } from "../sources/open-source.ts";
import { arrayColumn } from "./array-column.ts";
import { arrayMetadata } from "./array-metadata.ts";
import { zarrita } from "./package.ts";
import { EPISODE_ENDS } from "./signs.ts";
import { columnPlaces, type StepPart, stepTree } from "./step-places.ts";
import { type ZarrFolder, zarrFolder } from "./zarr-folder.ts";
import { zipFolder } from "./zip-folder.ts";

export interface ZarrOptions extends ReadOptions {
  /** A replacement for the runtime's `fetch`, for URLs. */
  readonly fetch?: Fetch;
}

/** The prefixes of the paths of arrays with steps (`data/`) and with metadata of episodes (`meta/`). */
const STEPS = "data/";
const META = "meta/";

/**
 * Opens a Zarr store of version 2 or 3 that diffusion_policy, UMI or a similar program wrote. The store is a folder, or a zip archive of a folder.
 *
 * `data` contains arrays over the steps of all episodes, and `meta/episode_ends` contains the end of each episode. `action` is the action. `observation` or
 * `obs` is the observation. If neither exists, the observation consists of all arrays that do not have the name of another field, and these arrays become, for
 * example, `observation/state` and `observation/img`. `timestamp` is never part of the observation. Missing rewards are 0.
 *
 * The last step of an episode is a transition. The episode terminated if `terminated` or `done` is set in that step. Otherwise, it was truncated. Other arrays
 * of `meta` are metadata of the episodes if they have one value per episode. `about` contains the attributes of the store. Supports chunks that are compressed
 * with Blosc, zstd, LZ4, gzip or zlib, as well as shards and missing chunks. Keeps one episode and its chunks in memory.
 * @throws RldsError NOT_FOUND if the file or folder does not exist
 * @throws RldsError CORRUPT if a file is damaged
 * @throws RldsError UNSUPPORTED if the store has no action or observation, if an array has a form that cannot be read, or if zarrita is missing
 * @throws RldsError EMPTY if there are no episodes
 */
export async function openZarr<S = RldsStep>(from: Source, options: ZarrOptions = {}): Promise<RldsReader<S>> {
  const { salvage, maxBytes = MAX_SOURCE_BYTES, signal, fetch } = onlyKeys("options", options, `fetch, ${READ_OPTIONS}`);
  const selection = new Selection(options);
  const losses = damageOf(salvage);
  integer("maxBytes", maxBytes, 1);
  const { file, folder } = await decompressedSource(from, { signal, fetch, maxBytes });
  try {
    const store = await zarrFolder(folder ?? (await zipFolder(file, maxBytes, signal)));
    const parts = { maxBytes, ...(signal && { signal }), losses };
    const reader = new ZarrReader(await partsOf(store, selection, parts), parts, async () => file?.close());
    return reader as RldsReader<unknown> as RldsReader<S>;
  } catch (error) {
    await file?.close();
    throw error;
  }
}

interface PartOptions {
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
  readonly losses: Damage | undefined;
}

interface Parts {
  readonly name: string;
  readonly file: string;
  readonly tree: TransitionTree;
  readonly ends: readonly number[];
  /** The column that marks the steps at which the environment terminated. */
  readonly terminal: Column | undefined;
  readonly metadata: EpisodeMetadata;
  readonly about: { readonly [key: string]: unknown };
}

async function partsOf(store: ZarrFolder, selection: Selection, options: PartOptions): Promise<Parts> {
  const { folder, root, paths } = store;
  const { losses, maxBytes, signal } = options;
  const file = folder.name;
  checkLeafCount(paths.length, "the store", { file });
  const zarr = await zarrita();
  const columnAt = async (path: string, name: string) => {
    const metadata = arrayMetadata(await store.arrayJson(path), `${root}${path}`, name);
    return arrayColumn(zarr, name, { folder, path: `${root}${path}`, metadata, maxBytes, ...(signal && { signal }) });
  };
  const ends = await endsOf(await columnAt(EPISODE_ENDS, EPISODE_ENDS), new MemoryBudget(file, maxBytes));
  const unread: string[] = [];
  const parts: StepPart[] = [];
  const named = paths.filter((path) => path.startsWith(STEPS)).map((path) => path.slice(STEPS.length).split("/"));
  for (const place of columnPlaces(named, selection)) {
    try {
      parts.push({ ...place, column: await columnAt(STEPS + place.names.join("/"), place.names.join("/")) });
    } catch (error) {
      const { code } = error as Partial<RldsError>;
      // An unsupported type or codec does not prevent the other arrays from being read.
      if (code === "UNSUPPORTED" && !place.isNamed) unread.push(`data/${place.names.join("/")}`);
      else if (losses !== undefined && !place.isNamed) losses.add(error);
      else throw withRemedy(error, place.names);
    }
  }
  selection.check();
  const { tree, terminal } = stepTree(parts, file);
  const rows = rowsOf(columnsOf(tree as unknown as Parameters<typeof columnsOf>[0]), file);
  const last = ends.at(-1) as number;
  if (last !== rows) {
    const error = corruptFile({ file }, `${EPISODE_ENDS} ends at ${last}, but the arrays of data have ${rows} rows`);
    if (losses === undefined) throw error;
    losses.add(error);
  }
  const others = [];
  for (const path of paths.filter((path) => path.startsWith(META) && path !== EPISODE_ENDS)) {
    try {
      others.push(await columnAt(path, path.slice(META.length)));
    } catch (error) {
      if ((error as Partial<RldsError>).code === "UNSUPPORTED") unread.push(path);
      else if (losses !== undefined) losses.add(error);
      else throw error;
    }
  }
  const metadata = await episodeMetadata(others, ends.length);
  const about = { ...metadata.about, ...(await store.attributes()), ...(unread.length > 0 && { unread }) };
  const place = root === "" ? folder.name : root.replace(/\/$/, "");
  const name = place
    .slice(place.lastIndexOf("/") + 1)
    .replace(/\.zip$/, "")
    .replace(/\.zarr$/, "");
  return { name, file, tree, ends: ends.filter((end) => end <= rows), terminal, metadata, about };
}

/** Returns the ends of the episodes. @throws RldsError CORRUPT if they are not increasing integers · EMPTY if there are no episodes */
async function endsOf(column: Column, budget: MemoryBudget): Promise<number[]> {
  const { leaf, rows = 0, path, read } = column;
  const fail = (what: string) => corruptFile({ file: path }, what);
  if (leaf.shape.length > 0 || !/^[iu]/.test(leaf.dtype) || column.rows === undefined)
    throw fail("the array must be one-dimensional and contain one integer per episode");
  if (rows === 0) throw new RldsError("EMPTY", "the dataset has no episodes", { file: path });
  budget.reserve(32 * rows, path);
  const ends = Array.from((await read(0, rows)) as ArrayLike<number | bigint>, Number);
  let from = 0;
  for (const [episode, end] of ends.entries()) {
    if (!(end > from)) throw corruptFile({ file: path, episode }, `the ends of episodes must increase, got ${end} after ${from}`);
    from = end;
  }
  return ends;
}

class ZarrReader implements RldsReader {
  readonly format = "zarr";
  readonly name: string;
  readonly stepSpec: StepSpec;
  readonly metadataSpec: { readonly [name: string]: StepSpec };
  readonly episodes?: number;
  readonly steps?: number;
  readonly losses?: readonly SourceLoss[];
  readonly lengths?: () => Promise<readonly number[]>;
  readonly startingAt?: (episode: number) => AsyncIterable<ReadEpisode>;
  readonly about: { readonly [key: string]: unknown };
  readonly close: () => Promise<void>;
  readonly #parts: Parts;
  readonly #options: PartOptions;

  constructor(parts: Parts, options: PartOptions, close: () => Promise<void>) {
    const { name, tree, ends, metadata, about } = parts;
    this.name = name;
    this.stepSpec = stepSpecOf(transitionSpecOf(tree));
    this.metadataSpec = finalStepSpec(metadata.spec);
    this.about = about;
    this.close = close;
    this.#parts = parts;
    this.#options = options;
    if (options.losses !== undefined) Object.assign(this, withDamage(options.losses));
    else {
      this.episodes = ends.length;
      this.steps = ends.at(-1) as number;
      this.lengths = async () => ends.map((end, i) => end - (ends[i - 1] ?? 0));
      this.startingAt = (episode) => this.#from(integer("episode", episode, 0));
    }
  }

  [Symbol.asyncIterator](): AsyncGenerator<ReadEpisode, void, undefined> {
    return this.#from(0);
  }

  async *#from(first: number): AsyncGenerator<ReadEpisode, void, undefined> {
    const { losses, signal } = this.#options;
    for (let episode = first; episode < this.#parts.ends.length; episode++) {
      signal?.throwIfAborted();
      const whole = await this.#read(episode).catch((error) => {
        if (losses === undefined) throw error;
        losses.add(error);
      });
      if (whole !== undefined) yield whole;
    }
  }

  async #read(episode: number): Promise<ReadEpisode> {
    const { tree, ends, terminal, metadata, file } = this.#parts;
    const from = ends[episode - 1] ?? 0;
    const to = ends[episode] as number;
    const isTerminal = terminal !== undefined && Number((await terminal.read(to - 1, to))[0]) !== 0;
    const range: EpisodeRange = { from, to, observedFrom: from, finalStep: false, ending: isTerminal ? "terminated" : "truncated" };
    const ended = await rangeSteps(tree, range, { file, episode, maxBytes: this.#options.maxBytes });
    return { ...metadata.valuesAt(episode), ...ended };
  }
}
