/** A table's items one after the other, whole. Reverb's `TrajectoryDataset`. */
import { hideFrames } from "../../base/stack-trace.ts";
import type { WaitOptions } from "../../base/wait.ts";
import type { Replay } from "../../replay/replay.ts";
import { mustBeAs, nestColumns, type ReplaySample, wholeColumns } from "../sampling/sample.ts";
import type { Awaitable } from "../writers/step-client.ts";
import { infoSpec, SampleDataset } from "./sample-dataset.ts";
import {
  type DatasetClient,
  itemsOf,
  resolveOptions,
  type SignatureOptions,
  type SyncClient,
  type TableDatasetOptions,
  withSignature,
} from "./table-dataset.ts";

/**
 * Items as the table gives them: `info`, and `data` nested as the spec, columns with their dimension of time. An iteration ends after `maxSamples`, or when the rate limiter
 * let none pass for `rateLimiterTimeoutMs`. For batches of one size, `table.dataset` of the engine is faster.
 */
// biome-ignore lint/suspicious/noExplicitAny: of any spec
export class TrajectoryDataset<Data = any> extends SampleDataset<ReplaySample<Data>> {
  /**
   * @throws TypeError, RangeError for an option · in an iteration ReplayError NOT_FOUND for the table, SPEC_MISMATCH where its signature, or an item, is not as `spec`: that
   * item counts as sampled
   */
  constructor(client: DatasetClient, table: string, options: TableDatasetOptions) {
    hideFrames(new.target);
    const resolvedOptions = resolveOptions(client, table, options);
    const begin = () => {
      const items = itemsOf(resolvedOptions, table);
      return {
        close: () => items.close(),
        later: async (wait: WaitOptions): Promise<ReplaySample<Data> | undefined> => {
          const item = await items.later(wait);
          if (item === undefined) return undefined;
          const columns = wholeColumns(item);
          mustBeAs(table, resolvedOptions.spec, item, columns);
          return { info: item.info, data: nestColumns(table, resolvedOptions.spec, columns) as Data };
        },
      };
    };
    super({ info: infoSpec(resolvedOptions.client.keyDtype), data: resolvedOptions.spec }, begin, resolvedOptions.signal);
  }

  /**
   * The dataset whose spec is the table's signature; a promise of it where a server tells that.
   * @throws ReplayError NOT_FOUND for the table · RangeError where it has no signature of its own, and as the constructor
   */
  // biome-ignore lint/suspicious/noExplicitAny: of any spec
  static fromTableSignature<Data = any>(client: (SyncClient & DatasetClient) | Replay, table: string, options?: SignatureOptions): TrajectoryDataset<Data>;
  // biome-ignore lint/suspicious/noExplicitAny: of any spec
  static fromTableSignature<Data = any>(client: DatasetClient, table: string, options?: SignatureOptions): Awaitable<TrajectoryDataset<Data>>;
  static fromTableSignature(client: DatasetClient, table: string, options: SignatureOptions = {}): Awaitable<TrajectoryDataset> {
    return withSignature(client, table, options, (rest) => createDataset(client, table, rest));
  }
}

/** Out of the class, which does not name itself: see inspect.ts. */
function createDataset(client: DatasetClient, table: string, options: TableDatasetOptions): TrajectoryDataset {
  return new TrajectoryDataset(client, table, options);
}
