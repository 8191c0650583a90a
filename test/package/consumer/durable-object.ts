/** Declares the storage of a Durable Object as in Cloudflare's types, reduced to the parts that we use, because our types do not need Cloudflare's types. */
import { f32, Replay } from "reprise";
import { type SqliteStorage, sqlite } from "reprise/storage";

type SqlValue = ArrayBuffer | string | number | null;
declare abstract class SqlStorageCursor<T extends Record<string, SqlValue>> {
  toArray(): T[];
  one(): T;
  get rowsWritten(): number;
  [Symbol.iterator](): IterableIterator<T>;
}
interface SqlStorage {
  // biome-ignore lint/suspicious/noExplicitAny: as it is there
  exec<T extends Record<string, SqlValue>>(query: string, ...bindings: any[]): SqlStorageCursor<T>;
  get databaseSize(): number;
}
interface DurableObjectStorage {
  get<T = unknown>(key: string): Promise<T | undefined>;
  sql: SqlStorage;
  sync(): Promise<void>;
  transactionSync<T>(closure: () => T): T;
}
declare const storage: DurableObjectStorage;

export const used: SqliteStorage = storage;
export const replay = await Replay.open({ dir: sqlite(storage, { name: "a" }), spec: { x: f32() }, tables: { memory: { maxSize: 1 } } });
// @ts-expect-error storage without SQL
sqlite({ get: storage.get });
// @ts-expect-error no option
sqlite(storage, { path: "a" });
