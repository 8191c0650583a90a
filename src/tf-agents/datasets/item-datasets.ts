/** Implements datasets of a table's items, either whole or step by step. They correspond to `TrajectoryDataset` and `TimestepDataset` of Reverb. */
import { hideFrames } from "../../base/stack-trace.ts";
import type { Replay } from "../../replay/replay.ts";
import type { Column } from "../../schema/column.ts";
import { type DrawnItem, mustBeAs, nestColumns, type ReplaySample, stepColumns, stepsOf, wholeColumns } from "../sampling/sample.ts";
import type { Awaitable } from "../writers/step-client.ts";
import { type ElementStream, infoSpec, SampleDataset } from "./sample-dataset.ts";
import {
  type DatasetClient,
  itemsOf,
  resolveOptions,
  type SignatureOptions,
  type SyncClient,
  type TableDatasetOptions,
  withSignature,
} from "./table-dataset.ts";

type Later<E> = ElementStream<E>["later"];

/**
 * Returns the arguments for the constructor of `SampleDataset`.
 * @param laterOf creates the reader of one iteration; `sampleOf` checks an item's columns and nests them like the spec
 */
function samples<Data>(
  client: DatasetClient,
  table: string,
  options: TableDatasetOptions,
  laterOf: (next: Later<DrawnItem>, sampleOf: (item: DrawnItem, columns: readonly Column[]) => ReplaySample<Data>) => Later<ReplaySample<Data>>,
) {
  const resolvedOptions = resolveOptions(client, table, options);
  const { spec, signal } = resolvedOptions;
  const sampleOf = (item: DrawnItem, columns: readonly Column[]) => {
    mustBeAs(table, spec, item, columns);
    return { info: item.info, data: nestColumns(table, spec, columns) as Data };
  };
  const begin = () => {
    const items = itemsOf(resolvedOptions, table);
    return { later: laterOf(items.later, sampleOf), close: items.close };
  };
  return [{ info: infoSpec(resolvedOptions.client.keyDtype), data: spec }, begin, signal] as const;
}

/**
 * A dataset of whole items: `info`, and `data` nested like the spec, with columns that have a time dimension. An iteration ends after `maxSamples` items, or
 * when the rate limiter has allowed no draw for `rateLimiterTimeoutMs`. For batches of a fixed size, `table.dataset` is faster.
 */
// biome-ignore lint/suspicious/noExplicitAny: of any spec
export class TrajectoryDataset<Data = any> extends SampleDataset<ReplaySample<Data>> {
  /**
   * Creates a dataset of whole items.
   * @throws TypeError, RangeError if an option is invalid
   * @throws ReplayError NOT_FOUND during iteration if the table does not exist
   * @throws ReplayError SPEC_MISMATCH during iteration if the signature of the table or an item does not match `spec`. That item counts as sampled
   */
  constructor(client: DatasetClient, table: string, options: TableDatasetOptions) {
    hideFrames(new.target);
    super(
      ...samples<Data>(client, table, options, (next, sampleOf) => async (wait) => {
        const item = await next(wait);
        return item && sampleOf(item, wholeColumns(item));
      }),
    );
  }

  /**
   * Returns the dataset whose spec is the table's signature. With a server, returns a promise of the dataset.
   * @throws ReplayError NOT_FOUND if the table does not exist
   * @throws RangeError if the table has no signature
   * @throws the errors of the constructor
   */
  // biome-ignore lint/suspicious/noExplicitAny: of any spec
  static fromTableSignature<Data = any>(client: (SyncClient & DatasetClient) | Replay, table: string, options?: SignatureOptions): TrajectoryDataset<Data>;
  // biome-ignore lint/suspicious/noExplicitAny: of any spec
  static fromTableSignature<Data = any>(client: DatasetClient, table: string, options?: SignatureOptions): Awaitable<TrajectoryDataset<Data>>;
  static fromTableSignature(client: DatasetClient, table: string, options: SignatureOptions = {}): Awaitable<TrajectoryDataset> {
    return withSignature(client, table, options, (rest) => createTrajectoryDataset(client, table, rest));
  }
}

/** Defined outside the class, because the class must not name itself (see inspect.ts). */
function createTrajectoryDataset(client: DatasetClient, table: string, options: TableDatasetOptions): TrajectoryDataset {
  return new TrajectoryDataset(client, table, options);
}

/**
 * A dataset of the steps of items. An element has the `info` of its item, and `data` nested like the spec of one step. The elements do not show where an item
 * ends. An iteration ends as in a TrajectoryDataset, and `maxSamples` counts items.
 */
// biome-ignore lint/suspicious/noExplicitAny: of any spec
export class TimestepDataset<Data = any> extends SampleDataset<ReplaySample<Data>> {
  /**
   * Creates a dataset of single steps.
   * @throws TypeError, RangeError if an option is invalid
   * @throws ReplayError NOT_FOUND during iteration if the table does not exist
   * @throws ReplayError SPEC_MISMATCH during iteration if the signature of the table or a step does not match `spec`, or if the columns of an item have
   * different lengths. That item counts as sampled
   */
  constructor(client: DatasetClient, table: string, options: TableDatasetOptions) {
    hideFrames(new.target);
    super(
      ...samples<Data>(client, table, options, (next, sampleOf) => {
        let item: DrawnItem | undefined;
        /** The index of the next step in the item. */
        let t = 0;
        let length = 0;
        return async (wait) => {
          while (item === undefined || t === length) {
            item = await next(wait);
            if (item === undefined) return undefined;
            t = 0;
            length = 0;
            length = stepsOf(table, item, true);
          }
          return sampleOf(item, stepColumns(item, t++));
        };
      }),
    );
  }

  /**
   * Returns the dataset whose spec is the table's signature, which must describe one step. With a server, returns a promise of the dataset.
   * @throws ReplayError NOT_FOUND if the table does not exist
   * @throws RangeError if the table has no signature
   * @throws the errors of the constructor
   */
  // biome-ignore lint/suspicious/noExplicitAny: of any spec
  static fromTableSignature<Data = any>(client: (SyncClient & DatasetClient) | Replay, table: string, options?: SignatureOptions): TimestepDataset<Data>;
  // biome-ignore lint/suspicious/noExplicitAny: of any spec
  static fromTableSignature<Data = any>(client: DatasetClient, table: string, options?: SignatureOptions): Awaitable<TimestepDataset<Data>>;
  static fromTableSignature(client: DatasetClient, table: string, options: SignatureOptions = {}): Awaitable<TimestepDataset> {
    return withSignature(client, table, options, (rest) => createTimestepDataset(client, table, rest));
  }
}

/** Defined outside the class, because the class must not name itself (see inspect.ts). */
function createTimestepDataset(client: DatasetClient, table: string, options: TableDatasetOptions): TimestepDataset {
  return new TimestepDataset(client, table, options);
}
