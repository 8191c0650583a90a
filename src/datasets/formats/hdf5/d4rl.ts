/** Opens D4RL datasets, which are HDF5 files of flat columns. */
import { integer, onlyKeys } from "../../../base/error.ts";
import { pack } from "../../../schema/nest.ts";
import type { RldsStep, StepSpec } from "../../model/dataset.ts";
import { FINAL_STEP, FINAL_STEP_LEAF } from "../../model/final-step.ts";
import { corruptFile, unsupportedFile } from "../../model/rlds-error.ts";
import type { ColumnData } from "../../model/step-columns.ts";
import { absentReward } from "../columns/absent-fields.ts";
import { type ColumnTree, columnsOf, mapColumns, rowSpec } from "../columns/column.ts";
import {
  checkFinalObservation,
  type FinalObservation,
  type FlatIndex,
  type FlatOptions,
  type FlatTable,
  flatEpisodes,
  flatIndex,
  rowsOf,
  squeezeColumn,
} from "../columns/flat.ts";
import { type Field, fieldsOf } from "../columns/names.ts";
import { specDifference } from "../columns/spec-difference.ts";
import { stepSpecOf, type TransitionSpec } from "../columns/transitions.ts";
import { type Damage, damageOf, type SourceLoss, withDamage } from "../damage.ts";
import { emptyIterable, lazy, lazyIterable } from "../lazy.ts";
import { READ_OPTIONS, type ReadEpisode, type RldsReader, type Unread } from "../reader.ts";
import { Selection } from "../selection/selection.ts";
import type { Source } from "../sources/open-source.ts";
import type { Hdf5File } from "./hdf5-file.ts";
import { type Hdf5Options, type Hdf5Source, openHdf5 } from "./open-file.ts";
import { type Hdf5Columns, selectHdf5 } from "./selected-hdf5.ts";

/** The options of `openD4rl`. */
export interface D4rlOptions extends Hdf5Options {
  /** The rule for the final step of an episode. Default: `rlds`. */
  readonly finalObservation?: FinalObservation;
  /** Whether the steps contain `infos`. Default: false. */
  readonly infos?: boolean;
  /** Whether the episodes contain the file's `metadata`. Default: true. */
  readonly metadata?: boolean;
  /**
   * The time limit of the environment, in steps. In a file without `timeouts`, episodes are truncated after this number of steps. Default: no limit, so these
   * episodes end only at `terminals` or at the end of the data.
   */
  readonly maxEpisodeSteps?: number;
}

const OPTIONS = `finalObservation, infos, metadata, maxEpisodeSteps, h5wasm, fetch, ${READ_OPTIONS}`;
/** The unread part that is reported for a file without timeouts. Such a file does not show which episodes a time limit truncated. */
const NO_TIMEOUTS: Unread = {
  what: "timeouts",
  remedy: "the option maxEpisodeSteps=STEPS, the environment's time limit, stands for them, as the file has none",
};

/**
 * Opens a D4RL dataset from its file, or from a folder that contains no other dataset.
 *
 * Episodes end at `terminals` or `timeouts`. Without `timeouts`, they also end after `maxEpisodeSteps`, and the last episode ends with the data. Missing
 * rewards are 0.
 *
 * Steps follow the RLDS importer (`finalObservation`), with two differences. A final observation belongs to its own episode, instead of all final observations
 * being at the end of the file. If the data ends within an episode, none of the episode's steps has `is_last` set.
 *
 * The dtypes are those of the file. A reward of shape [1] becomes a single number. The file is read in slices of rows, so the memory in use depends only on the
 * longest episode.
 * @throws RldsError NOT_FOUND if the file or folder does not exist
 * @throws RldsError CORRUPT if a file is damaged
 * @throws RldsError UNSUPPORTED if the file has an unknown form, or if the package h5wasm is missing
 * @throws TypeError, RangeError if an option is invalid
 */
export async function openD4rl<S = RldsStep>(from: Source, options: D4rlOptions = {}): Promise<RldsReader<S>> {
  parseOptions(options);
  return (await d4rlOf(await openHdf5(from, [".hdf5", ".h5"], options), options)) as RldsReader<unknown> as RldsReader<S>;
}

function parseOptions(options: D4rlOptions): FinalObservation {
  const { finalObservation = "rlds", maxEpisodeSteps } = onlyKeys("options", options, OPTIONS);
  checkFinalObservation(finalObservation);
  if (maxEpisodeSteps !== undefined) integer("maxEpisodeSteps", maxEpisodeSteps, 1, Number.MAX_SAFE_INTEGER);
  return finalObservation;
}

/** Opens the dataset in an open file. If this fails, closes the file. @throws the errors of `openD4rl` */
export async function d4rlOf({ hdf5 }: Hdf5Source, options: D4rlOptions): Promise<RldsReader> {
  try {
    const finalObservation = parseOptions(options);
    const selection = new Selection(options);
    const losses = damageOf(options.salvage);
    const table = await tableOf(await selectHdf5(hdf5, selection), options);
    const hasInfos = options.infos !== true && (await hdf5.entry("/infos")) === "group";
    const infos = hasInfos ? [{ what: "infos", remedy: "the option infos=true reads them" }] : [];
    selection.check(infos);
    const metadata = options.metadata === false || (await hdf5.entry("/metadata")) !== "group" ? {} : await hdf5.tree("/metadata");
    const about = Object.fromEntries([...(await hdf5.attributes("/"))].map(([name, { leaf, data }]) => [name, leaf.shape.length > 0 ? data : data[0]]));
    const unread = [...infos, ...(table.timeouts === undefined && options.maxEpisodeSteps === undefined ? [NO_TIMEOUTS] : [])];
    return new D4rlReader(hdf5, table, metadata, await valuesOf(metadata), about, unread, { ...options, losses, finalObservation, maxBytes: hdf5.maxBytes });
  } catch (error) {
    await hdf5.close();
    throw error;
  }
}

class D4rlReader implements RldsReader {
  readonly format = "d4rl";
  readonly name: string;
  readonly stepSpec: StepSpec;
  readonly metadataSpec: { readonly [name: string]: StepSpec };
  readonly about: { readonly [key: string]: unknown };
  readonly unread: readonly Unread[];
  readonly losses?: readonly SourceLoss[];
  readonly #hdf5: Hdf5File;
  readonly #table: FlatTable;
  readonly #metadata: { readonly [name: string]: unknown };
  readonly #options: FlatOptions;
  readonly #index: () => Promise<FlatIndex>;

  constructor(
    hdf5: Hdf5File,
    table: FlatTable,
    metadata: ColumnTree,
    values: unknown,
    about: { readonly [key: string]: unknown },
    unread: readonly Unread[],
    options: FlatOptions & { readonly losses: Damage | undefined },
  ) {
    this.#hdf5 = hdf5;
    this.#table = table;
    this.#metadata = values as { readonly [name: string]: unknown };
    this.#options = options;
    this.#index = lazy(() => flatIndex(table, options));
    this.name = hdf5.name.replace(/\.(hdf5|h5)$/, "");
    this.stepSpec = stepSpecOf(rowSpec(table.transition) as unknown as TransitionSpec);
    this.metadataSpec = { ...(valueSpec(metadata) as { readonly [name: string]: StepSpec }), [FINAL_STEP]: FINAL_STEP_LEAF };
    this.about = about;
    this.unread = unread;
    Object.assign(this, withDamage(options.losses));
  }

  [Symbol.asyncIterator](): AsyncGenerator<ReadEpisode<RldsStep>, void, undefined> {
    return this.#from(0);
  }

  startingAt(episode: number): AsyncIterable<ReadEpisode<RldsStep>> {
    integer("episode", episode, 0);
    return lazyIterable(async () => {
      const row = (await this.#index()).rows[episode];
      return row === undefined ? emptyIterable() : this.#from(row);
    });
  }

  async lengths(): Promise<readonly number[]> {
    return (await this.#index()).lengths;
  }

  async *#from(row: number): AsyncGenerator<ReadEpisode<RldsStep>, void, undefined> {
    for await (const ended of flatEpisodes(this.#table, this.#options, row)) yield { ...this.#metadata, ...ended };
  }

  close(): Promise<void> {
    return this.#hdf5.close();
  }
}

async function tableOf(hdf5: Hdf5Columns, { infos, finalObservation }: D4rlOptions): Promise<FlatTable> {
  const file = hdf5.name;
  const names = fieldsOf(await hdf5.names("/"));
  /** Returns the path of the dataset or group for a field. Returns undefined if the file has none. */
  const pathOf = (field: Field) => [...names].flatMap(([name, found]) => (found === field ? [`/${name}`] : []))[0];
  const needed = (field: Field, name: string) => {
    const path = pathOf(field);
    if (path === undefined) throw corruptFile({ file }, `the file has no ${name}: it is not a D4RL file`);
    return path;
  };
  const flags = async (path: string | undefined) => (path === undefined ? undefined : squeezeColumn(await hdf5.column(path)));
  const paths = {
    observation: needed("observation", "observations"),
    action: needed("action", "actions"),
    terminal: pathOf("terminated") ?? needed("done", "terminals"),
  };
  const observation = await hdf5.tree(paths.observation);
  const terminals = squeezeColumn(await hdf5.column(paths.terminal));
  const timeouts = await flags(pathOf("truncated"));
  const rewardPath = pathOf("reward");
  const nextPath = pathOf("next_observation");
  const next = nextPath === undefined ? undefined : await hdf5.tree(nextPath);
  const info = infos === true && (await hdf5.entry("/infos")) === "group" ? await hdf5.tree("/infos") : {};
  if (next === undefined && finalObservation === "next")
    throw unsupportedFile({ file }, "the file has no next_observations, which finalObservation requires. Omit finalObservation");
  const different = next === undefined ? undefined : specDifference(rowSpec(observation), rowSpec(next));
  if (different !== undefined) throw corruptFile({ file }, `next_observations do not match observations: ${different}`);
  const invalid = [terminals, timeouts].find(
    (column) => column !== undefined && (column.leaf.shape.length > 0 || ["string", "bytes"].includes(column.leaf.dtype)),
  );
  if (invalid !== undefined) throw corruptFile({ file }, `${invalid.path} must have one flag per row`);
  const transition = {
    observation,
    action: await hdf5.tree(paths.action),
    reward: rewardPath === undefined ? absentReward(terminals.rows ?? 0) : squeezeColumn(await hdf5.column(rewardPath)),
    ...(columnsOf(info).length > 0 && { infos: info }),
  };
  if (columnsOf(observation).length === 0) throw corruptFile({ file }, "the file has no observations");
  rowsOf([...columnsOf(transition), terminals, ...(timeouts === undefined ? [] : [timeouts]), ...(next === undefined ? [] : columnsOf(next))], file);
  return { file, transition, terminals, timeouts, nextObservation: next };
}

/** Returns the spec of metadata, in which all rows of a dataset form a single value. */
function valueSpec(tree: ColumnTree): StepSpec {
  return mapColumns(tree, ({ leaf, rows }) => ({ ...leaf, shape: [...(rows === undefined ? [] : [rows]), ...leaf.shape] }));
}

async function valuesOf(tree: ColumnTree): Promise<unknown> {
  const values: unknown[] = [];
  for (const { leaf, rows, read } of columnsOf(tree)) {
    const data: ColumnData = await read(0, rows ?? 0);
    values.push(rows !== undefined || leaf.shape.length > 0 ? data : leaf.dtype === "bool" ? data[0] === 1 : data[0]);
  }
  return pack(rowSpec(tree), values);
}
