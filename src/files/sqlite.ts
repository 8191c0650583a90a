/**
 * Stores files in the SQLite storage of a Durable Object (Cloudflare Workers, workerd): one row per file, and separate rows for the file's bytes, which are
 * found by file and offset. An append extends the last row if the extended row fits in a page, and otherwise inserts a row. Either way, it writes a single row.
 */
import { mustBe, onlyKeys } from "../base/error.ts";
import { closable, type Directory, type StorageFile } from "./directory.ts";

/** The part of a Durable Object's `ctx.storage` that the directory uses. The class of the object must have SQLite storage (`new_sqlite_classes`). */
export interface SqliteStorage {
  readonly sql: { exec(query: string, ...bindings: unknown[]): Iterable<unknown> };
  transactionSync<T>(call: () => T): T;
  sync(): Promise<void>;
}

export interface SqliteOptions {
  /** The name of the directory, which distinguishes the directories in the storage of one object. Not empty. Default: "reprise". */
  readonly name?: string;
}

/** The maximum size in bytes of a row after an append extends it. SQLite writes whole pages, so extending a row within a page costs no more than an insert. */
const PAGE = 4096;
/** The maximum number of bytes in a row. Cloudflare allows 2 MB. */
const MAX_ROW_BYTES = 1 << 20;
/** The maximum number of bytes in a file. The id of a row is the number of its file times this constant, plus the row's offset in the file. */
const MAX_FILE_BYTES = 2 ** 32;

/** The statements that create the tables. */
const TABLES = [
  "CREATE TABLE IF NOT EXISTS reprise_files (id INTEGER PRIMARY KEY AUTOINCREMENT, directory TEXT NOT NULL, name TEXT NOT NULL, UNIQUE (directory, name))",
  "CREATE TABLE IF NOT EXISTS reprise_bytes (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL)",
];
const LIST = "SELECT name FROM reprise_files WHERE directory = ?";
const FIND = "SELECT id FROM reprise_files WHERE directory = ? AND name = ?";
const EXISTS = "SELECT id FROM reprise_files WHERE id = ?";
const CREATE = "INSERT INTO reprise_files (directory, name) VALUES (?, ?) RETURNING id";
const RENAME = "UPDATE reprise_files SET name = ? WHERE id = ?";
const REMOVE = "DELETE FROM reprise_files WHERE id = ?";
/** Removes the rows with ids in a range. The first bound is inclusive, the second is exclusive. */
const REMOVE_BYTES = "DELETE FROM reprise_bytes WHERE id >= ? AND id < ?";
/** Selects the last row with an id in a range. */
const LAST = "SELECT id, length(bytes) AS length FROM reprise_bytes WHERE id >= ? AND id < ? ORDER BY id DESC LIMIT 1";
/** Selects the row that contains a byte, and the rows after it, up to an id (exclusive). */
const READ = "SELECT id, bytes FROM reprise_bytes WHERE id >= (SELECT max(id) FROM reprise_bytes WHERE id <= ?) AND id < ? ORDER BY id";
const INSERT = "INSERT INTO reprise_bytes (id, bytes) VALUES (?, ?)";
const EXTEND = "UPDATE reprise_bytes SET bytes = CAST(bytes || ? AS BLOB) WHERE id = ?";
const REPLACE = "UPDATE reprise_bytes SET bytes = ? WHERE id = ?";
const CUT = "UPDATE reprise_bytes SET bytes = substr(bytes, 1, ?) WHERE id = ?";

/** The directories of this isolate. The platform runs one instance of an object at a time, and rejects storage calls from an earlier instance. */
const directories = new WeakMap<SqliteStorage, Map<string, Sqlite>>();

/**
 * Returns a directory in a Durable Object's SQLite storage. The same storage and name return the same directory. An append writes one row, a read reads only
 * the rows that it touches, and each call is atomic.
 *
 * `sync` does nothing. The platform holds back responses and socket messages until earlier writes are confirmed, and restarts the object if they fail.
 * `replay.flush()` resolves after `storage.sync()`. A row stores up to 1 MiB, and a file up to 4 GiB.
 * @param storage `ctx.storage` of an object whose class has SQLite storage
 * @throws TypeError if an argument is invalid
 */
export function sqlite(storage: SqliteStorage, options: SqliteOptions = {}): Directory {
  const { name = "reprise" } = onlyKeys("sqlite", options, "name");
  if (typeof storage?.sql?.exec !== "function" || typeof storage.transactionSync !== "function")
    throw mustBe(TypeError, "storage", "ctx.storage of a Durable Object whose class is in new_sqlite_classes", storage);
  if (typeof name !== "string" || name === "") throw mustBe(TypeError, "name", "a non-empty string", name);
  const existing = directories.get(storage) ?? new Map<string, Sqlite>();
  directories.set(storage, existing);
  const directory = existing.get(name) ?? new Sqlite(storage, name);
  existing.set(name, directory);
  return directory;
}

class Sqlite implements Directory {
  readonly name: string;
  readonly #storage: SqliteStorage;
  #owner: (() => void) | undefined;

  constructor(storage: SqliteStorage, name: string) {
    this.name = name;
    this.#storage = storage;
    for (const table of TABLES) this.#rows(table);
  }

  list(): string[] {
    return this.#rows<{ name: string }>(LIST, this.name).map(({ name }) => name);
  }

  open(name: string, create: boolean): StorageFile {
    const id = this.#find(name) ?? (create ? this.#rows<{ id: number }>(CREATE, this.name, name)[0]?.id : undefined);
    if (id === undefined) throw Object.assign(new Error(`there is no file ${name}`), { code: "ENOENT" });
    const [from, to] = [id * MAX_FILE_BYTES, (id + 1) * MAX_FILE_BYTES];
    return closable(name, {
      size: () => this.#size(from, to),
      read: (into, at) => this.#read(from, to, into, at),
      write: (bytes, at) => this.#write(from, to, bytes, at),
      truncate: (bytes) => this.#storage.transactionSync(() => this.#truncate(from, to, bytes)),
      sync: () => {},
    });
  }

  remove(name: string): void {
    this.#storage.transactionSync(() => this.#remove(name));
  }

  rename(name: string, to: string): void {
    this.#storage.transactionSync(() => {
      const id = this.#find(name);
      if (id === undefined) throw Object.assign(new Error(`there is no file ${name}`), { code: "ENOENT" });
      if (name !== to) this.#remove(to);
      this.#rows(RENAME, to, id);
    });
  }

  lock(onTakeover: () => void): () => void {
    this.#owner?.();
    this.#owner = onTakeover;
    return () => {
      if (this.#owner === onTakeover) this.#owner = undefined;
    };
  }

  confirm(): Promise<void> {
    return this.#storage.sync();
  }

  #find(name: string): number | undefined {
    return this.#rows<{ id: number }>(FIND, this.name, name)[0]?.id;
  }

  #remove(name: string): void {
    const id = this.#find(name);
    if (id === undefined) return;
    this.#rows(REMOVE, id);
    this.#rows(REMOVE_BYTES, id * MAX_FILE_BYTES, (id + 1) * MAX_FILE_BYTES);
  }

  /** Returns the last row of a file. */
  #last(from: number, to: number): { id: number; length: number } | undefined {
    return this.#rows<{ id: number; length: number }>(LAST, from, to)[0];
  }

  #size(from: number, to: number): number {
    const last = this.#last(from, to);
    return last === undefined ? 0 : last.id + last.length - from;
  }

  #read(from: number, to: number, into: Uint8Array, at: number): number {
    const end = Math.min(from + at + into.length, to);
    let place = from + at;
    for (const { id, bytes } of this.#rows<{ id: number; bytes: ArrayBuffer }>(READ, place, end)) {
      // The row belongs to an earlier file if this file is empty, or ends before the requested byte.
      if (id < from || place >= id + bytes.byteLength) break;
      const part = new Uint8Array(bytes, place - id, Math.min(id + bytes.byteLength, end) - place);
      into.set(part, place - from - at);
      place += part.length;
    }
    return place - from - at;
  }

  #write(from: number, to: number, bytes: Uint8Array, at: number): number {
    const last = this.#last(from, to);
    const size = last === undefined ? 0 : last.id + last.length - from;
    const isThere = size > 0 || this.#rows(EXISTS, from / MAX_FILE_BYTES).length > 0;
    // The file or its last bytes are missing, for example because the program rolled back a transaction.
    if (at > size || !isThere) throw staleError(at, size);
    if (at < size) return this.#overwrite(from, bytes, at);
    const part = bytes.slice(0, Math.min(bytes.length, MAX_ROW_BYTES, MAX_FILE_BYTES - at));
    if (part.length === 0 && bytes.length > 0) throw Object.assign(new Error("a file is limited to 4 GiB"), { code: "EFBIG" });
    if (part.length === 0) return 0;
    if (last !== undefined && last.length + part.length <= PAGE) this.#rows(EXTEND, part.buffer, last.id);
    else this.#rows(INSERT, from + at, part.buffer);
    return part.length;
  }

  /** Overwrites bytes up to the end of the row that contains the first byte. Returns the number of bytes written. */
  #overwrite(from: number, bytes: Uint8Array, at: number): number {
    const [row] = this.#rows<{ id: number; bytes: ArrayBuffer }>(READ, from + at, from + at + 1) as [{ id: number; bytes: ArrayBuffer }];
    const part = bytes.subarray(0, row.id + row.bytes.byteLength - from - at);
    new Uint8Array(row.bytes).set(part, from + at - row.id);
    this.#rows(REPLACE, row.bytes, row.id);
    return part.length;
  }

  #truncate(from: number, to: number, bytes: number): void {
    const size = this.#size(from, to);
    if (bytes > size) throw staleError(bytes, size);
    this.#rows(REMOVE_BYTES, from + bytes, to);
    const last = this.#last(from, to);
    if (last !== undefined && last.id + last.length > from + bytes) this.#rows(CUT, from + bytes - last.id, last.id);
  }

  #rows<T>(statement: string, ...values: readonly unknown[]): T[] {
    try {
      return [...this.#storage.sql.exec(statement, ...values)] as T[];
    } catch (cause) {
      const { message = String(cause) } = (cause ?? {}) as { message?: string };
      const [code] = /\bSQLITE_[A-Z]+/.exec(message) ?? [];
      throw code === undefined ? cause : Object.assign(new Error(message, { cause }), { code });
    }
  }
}

function staleError(at: number, size: number): Error {
  return Object.assign(new Error(`byte ${at} is outside a file of ${size} bytes`), { code: "ESTALE" });
}
