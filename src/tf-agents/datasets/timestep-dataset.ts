/** The steps of a table's items, one item after the other. Reverb's `TimestepDataset`. */
import { hideFrames } from "../../base/stack-trace.ts";
import type { WaitOptions } from "../../base/wait.ts";
import type { Replay } from "../../replay/replay.ts";
import { type DrawnItem, mustBeAs, nestColumns, type ReplaySample, stepColumns, stepsOf } from "../sampling/sample.ts";
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
 * Steps of the items that the table gives: the `info` of their item, and `data` nested as the spec, which is that of one step. Where an item ends nothing tells. An iteration
 * ends as that of a TrajectoryDataset; `maxSamples` counts items.
 */
// biome-ignore lint/suspicious/noExplicitAny: of any spec
export class TimestepDataset<Data = any> extends SampleDataset<ReplaySample<Data>> {
  /**
   * @throws TypeError, RangeError for an option · in an iteration ReplayError NOT_FOUND for the table, SPEC_MISMATCH where its signature, or a step, is not as `spec`, or the
   * columns of an item have different lengths: that item counts as sampled
   */
  constructor(client: DatasetClient, table: string, options: TableDatasetOptions) {
    hideFrames(new.target);
    const resolvedOptions = resolveOptions(client, table, options);
    const begin = () => {
      const items = itemsOf(resolvedOptions, table);
      /** What is being taken apart, and how far. */
      let item: DrawnItem | undefined;
      let t = 0;
      let length = 0;
      return {
        close: () => items.close(),
        later: async (wait: WaitOptions): Promise<ReplaySample<Data> | undefined> => {
          while (item === undefined || t === length) {
            item = await items.later(wait);
            if (item === undefined) return undefined;
            t = 0;
            length = 0;
            length = stepsOf(table, item, true);
          }
          const columns = stepColumns(item, t++);
          mustBeAs(table, resolvedOptions.spec, item, columns);
          return { info: item.info, data: nestColumns(table, resolvedOptions.spec, columns) as Data };
        },
      };
    };
    super({ info: infoSpec(resolvedOptions.client.keyDtype), data: resolvedOptions.spec }, begin, resolvedOptions.signal);
  }

  /**
   * The dataset whose spec is the table's signature, which must be that of one step; a promise of it where a server tells that.
   * @throws ReplayError NOT_FOUND for the table · RangeError where it has no signature of its own, and as the constructor
   */
  // biome-ignore lint/suspicious/noExplicitAny: of any spec
  static fromTableSignature<Data = any>(client: (SyncClient & DatasetClient) | Replay, table: string, options?: SignatureOptions): TimestepDataset<Data>;
  // biome-ignore lint/suspicious/noExplicitAny: of any spec
  static fromTableSignature<Data = any>(client: DatasetClient, table: string, options?: SignatureOptions): Awaitable<TimestepDataset<Data>>;
  static fromTableSignature(client: DatasetClient, table: string, options: SignatureOptions = {}): Awaitable<TimestepDataset> {
    return withSignature(client, table, options, (rest) => createDataset(client, table, rest));
  }
}

/** Out of the class, which does not name itself: see inspect.ts. */
function createDataset(client: DatasetClient, table: string, options: TableDatasetOptions): TimestepDataset {
  return new TimestepDataset(client, table, options);
}
