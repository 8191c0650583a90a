/** What the translations share: the items of tables, as plain values. */
import { expect } from "vitest";
import type { Column } from "../../src/index.ts";
import type { ReplaySample } from "../../src/tf-agents/index.ts";
import { GrpcServer } from "../support/grpc-server.ts";

/** Columns as plain arrays, in whatever they are nested. */
export function plain(data: unknown): unknown {
  if (Array.isArray(data)) return data.map(plain);
  if (typeof data !== "object" || data === null) return data;
  if ("toArray" in data) return (data as Column).toArray();
  return Object.fromEntries(Object.entries(data).map(([name, part]) => [name, plain(part)]));
}

/** Of a client what is asked here, whatever its spec. */
export interface Sampled {
  table(name: string): { readonly size: number };
  sample(table: string, n: number, options: { readonly emitTimesteps: false }): AsyncIterable<ReplaySample>;
}

/** Items of a table, each once drawn. All that it holds, where no number is given. */
export async function samples(client: Sampled, table: string, n = client.table(table).size, options: object = {}): Promise<ReplaySample[]> {
  const found: ReplaySample[] = [];
  if (n > 0) for await (const sample of client.sample(table, n, { emitTimesteps: false, ...options })) found.push(sample);
  return found;
}

/** What `samples` gives, without what is known of each: the columns in the order of their names. */
export async function contents(client: Sampled, table: string, n?: number, options?: object): Promise<unknown[]> {
  return (await samples(client, table, n, options)).map(({ data }) => plain(data));
}

/** How often each key comes in n samples, the most frequent first, as parts of all. */
export async function frequencies(client: Sampled, table: string, n = 10_000): Promise<number[]> {
  const counts = new Map<unknown, number>();
  for (const { info } of await samples(client, table, n)) counts.set(info.key, (counts.get(info.key) ?? 0) + 1);
  return [...counts.values()].map((count) => count / n).sort((a, b) => b - a);
}

export const code = (error: string) => expect.objectContaining({ code: error });

/** The first elements of a dataset. */
export async function taken<E>(dataset: AsyncIterable<E>, n: number): Promise<E[]> {
  const found: E[] = [];
  for await (const element of dataset) if (found.push(element) === n) break;
  return found;
}

/** What is known of a sample: one number each, whatever its steps. */
export const INFO = {
  key: expect.any(Number),
  probability: expect.any(Number),
  tableSize: expect.any(Number),
  priority: expect.any(Number),
  timesSampled: expect.any(Number),
};

/** Options that Reverb's datasets take, and those that they refuse. */
export const TAKEN = [
  {},
  { numWorkersPerIterator: 1 },
  { numWorkersPerIterator: -1 },
  { maxSamplesPerStream: 1 },
  { maxSamplesPerStream: -1 },
  { maxInFlightSamplesPerWorker: 1 },
].map((options) => ({ options }));
export const REFUSED = [
  { numWorkersPerIterator: 0 },
  { numWorkersPerIterator: -2 },
  { maxSamplesPerStream: 0 },
  { maxSamplesPerStream: -2 },
  { maxInFlightSamplesPerWorker: 0 },
  { maxInFlightSamplesPerWorker: -1 },
].map((options) => ({ options }));

/** An address where nobody listens: somebody did just now. */
export async function nowhere(): Promise<string> {
  const server = await GrpcServer.start({});
  await server.stop();
  return server.address;
}
