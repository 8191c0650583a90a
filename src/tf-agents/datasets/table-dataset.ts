/** Defines the options of a table's datasets, and the stream of its items. */
import { mustBe, onlyKeys } from "../../base/error.ts";
import { abortable, checkSignal, type WaitOptions } from "../../base/wait.ts";
import type { Replay } from "../../replay/replay.ts";
import { leaves, map, type Nest } from "../../schema/nest.ts";
import { unknownTable } from "../../tables/rules.ts";
import { isPromise } from "../awaitable.ts";
import type { DrawnItem } from "../sampling/sample.ts";
import { checkSampler, type SamplerOptions } from "../sampling/sampler-options.ts";
import type { TableInfo } from "../sampling/table-info.ts";
import { type LeafSignature, mustAgree, type Signature } from "../signature.ts";
import type { SampleClient, ServerInfoOptions } from "../writers/client.ts";
import { sampleClientOf } from "../writers/local-client.ts";
import { type Awaitable, mustBeTableName } from "../writers/step-client.ts";
import type { ElementStream } from "./sample-dataset.ts";

export interface SignatureOptions extends SamplerOptions {
  /** A signal that aborts every iteration and the wait for the signature. Both throw the signal's reason. */
  readonly signal?: AbortSignal;
  /** The time in seconds to wait until a server is reachable and answers with the signature. Default: the default of `serverInfo`. */
  readonly getSignatureTimeoutSecs?: number;
}

export interface TableDatasetOptions extends Omit<SignatureOptions, "getSignatureTimeoutSecs"> {
  /** The dtype and shape of each column, nested like the data. null means a dimension of any length. */
  readonly spec: Signature;
}

/** A client, or a Replay for its own tables. */
export type DatasetClient = SampleClient | Replay;

/**
 * A client that answers synchronously, without a request to a server. The type is structural, because an overload for a class with an `any` spec would be tried
 * only after the overload for all clients.
 */
export interface SyncClient {
  serverInfo(options?: ServerInfoOptions): { readonly [table: string]: TableInfo };
}

const SAMPLER = "maxSamples, rateLimiterTimeoutMs, maxInFlightSamplesPerWorker, numWorkersPerIterator, maxSamplesPerStream, signal";

/** Returns the checked options of a dataset. @throws TypeError, RangeError if an option is invalid */
export function resolveOptions(client: DatasetClient, table: string, options: TableDatasetOptions) {
  const { spec, signal, ...sampler } = onlyKeys("options", options, `spec, ${SAMPLER}`);
  mustBeTableName(table);
  checkSignal(signal);
  checkSampler(sampler);
  return { client: sampleClientOf(client), spec: checkSpec(spec), signal, sampler };
}

function checkSpec(spec: Signature): Signature {
  // `leaves` throws if the value is not a nest.
  leaves(spec as Nest<never>);
  const size = (n: unknown) => n === null || (Number.isInteger(n) && (n as number) >= 0);
  return map(spec as Nest<never>, (leaf: LeafSignature, keys): LeafSignature => {
    const { dtype, shape, stored } = leaf;
    if (shape !== null && (!Array.isArray(shape) || !shape.every(size)))
      throw mustBe(TypeError, ["spec", ...keys].join("."), "{dtype, shape}, with null for any length", leaf);
    return { dtype, shape, ...(stored !== undefined && { stored }) };
  });
}

/**
 * Returns the items of one iteration. @throws the errors of `Sampler.next`, and in the first call ReplayError SPEC_MISMATCH if the table's signature differs
 * from `spec`
 */
export function itemsOf({ client, spec, signal, sampler }: ReturnType<typeof resolveOptions>, table: string): ElementStream<DrawnItem> {
  const items = client.sampler(table, sampler);
  let isKnown = false;
  const nextLater = async (wait: WaitOptions) => {
    if (!isKnown) {
      const request = client.serverInfo(wait.signal === undefined ? {} : { signal: wait.signal });
      const tableSignature = (await abortable(Promise.resolve(request), "the server has not reported its tables", wait))[table]?.signature;
      if (tableSignature !== undefined) mustAgree(`spec for table ${table}`, tableSignature, spec);
      isKnown = true;
    }
    return items.next(wait.signal === undefined ? {} : { signal: wait.signal });
  };
  // Closes the sampler even if no call waits for an item. Otherwise, the server would continue to draw.
  const aborted = () => items.close(signal?.reason);
  signal?.addEventListener("abort", aborted);
  const close = () => {
    signal?.removeEventListener("abort", aborted);
    items.close();
  };
  return { later: nextLater, close };
}

/**
 * Creates a dataset whose spec is the table's signature. @throws ReplayError NOT_FOUND if the table does not exist · RangeError if the table has no signature
 */
export function withSignature<D>(client: DatasetClient, table: string, options: SignatureOptions, make: (options: TableDatasetOptions) => D): Awaitable<D> {
  const { getSignatureTimeoutSecs: timeout, ...rest } = onlyKeys("options", options, `getSignatureTimeoutSecs, ${SAMPLER}`);
  const { signal, ...sampler } = rest;
  checkSignal(signal);
  checkSampler(sampler);
  const of = (tables: { readonly [name: string]: TableInfo }) => {
    if (!Object.hasOwn(tables, table)) throw unknownTable(table, Object.keys(tables));
    const { signature } = tables[table] as TableInfo;
    if (signature === undefined) throw mustBe(RangeError, "table", ["a table with a signature", "Pass such a table, or pass spec to the constructor"], table);
    return make({ ...rest, spec: signature });
  };
  const info = sampleClientOf(client).serverInfo({
    ...(timeout !== undefined && { timeout }),
    ...(signal !== undefined && { signal }),
  } satisfies ServerInfoOptions);
  return isPromise(info) ? info.then(of) : of(info);
}
