/** Reads the items of tables as plain values, for all translations. */
import { expect } from "vitest";
import type { Column } from "../../src/index.ts";
import type { ReplaySample } from "../../src/tf-agents/index.ts";
import { GrpcServer } from "../support/grpc-server.ts";

/** Converts columns to plain arrays, whatever their nesting. */
export function plain(data: unknown): unknown {
  if (Array.isArray(data)) return data.map(plain);
  if (typeof data !== "object" || data === null) return data;
  if ("toArray" in data) return (data as Column).toArray();
  return Object.fromEntries(Object.entries(data).map(([name, part]) => [name, plain(part)]));
}

/** The methods of a client that the translations call, for any spec. */
export interface Sampled {
  table(name: string): { readonly size: number };
  sample(table: string, n: number, options: { readonly emitTimesteps: false }): AsyncIterable<ReplaySample>;
}

/** Draws n samples from a table, by default as many as the table has items. Depending on the sampler, an item may be drawn several times. */
export async function samples(client: Sampled, table: string, n = client.table(table).size, options: object = {}): Promise<ReplaySample[]> {
  const found: ReplaySample[] = [];
  if (n > 0) for await (const sample of client.sample(table, n, { emitTimesteps: false, ...options })) found.push(sample);
  return found;
}

/** Draws `samples` and returns their data as plain values, without the infos. */
export async function contents(client: Sampled, table: string, n?: number, options?: object): Promise<unknown[]> {
  return (await samples(client, table, n, options)).map(({ data }) => plain(data));
}

/** Returns the relative frequencies of the keys in n samples, in descending order. */
export async function frequencies(client: Sampled, table: string, n = 10_000): Promise<number[]> {
  const counts = new Map<unknown, number>();
  for (const { info } of await samples(client, table, n)) counts.set(info.key, (counts.get(info.key) ?? 0) + 1);
  return [...counts.values()].map((count) => count / n).sort((a, b) => b - a);
}

export const code = (error: string) => expect.objectContaining({ code: error });

/** Returns the first elements of a dataset. */
export async function taken<E>(dataset: AsyncIterable<E>, n: number): Promise<E[]> {
  const found: E[] = [];
  for await (const element of dataset) if (found.push(element) === n) break;
  return found;
}

/** The expected info of a sample: one number per field, whatever the number of its steps. */
export const INFO = {
  key: expect.any(Number),
  probability: expect.any(Number),
  tableSize: expect.any(Number),
  priority: expect.any(Number),
  timesSampled: expect.any(Number),
};

/** Options that Reverb's datasets accept (TAKEN), and options that they reject (REFUSED). */
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

/** Returns an address where a server listened before, but no longer does. */
export async function nowhere(): Promise<string> {
  const server = await GrpcServer.start({});
  await server.stop();
  return server.address;
}
