/**
 * Simulates the storage of a Durable Object, as far as `sqlite` of reprise/storage uses it, with faults and the state after a crash.
 * `test/runtime/workerd.test.ts` runs the same worlds on the real workerd.
 */
import type { Directory, StorageFile } from "../../src/files/directory.ts";
import type { MemoryDirectory, MemoryOptions, Operation } from "../../src/files/memory.ts";
import { type SqliteStorage, sqlite } from "../../src/files/sqlite.ts";

interface Tables {
  readonly files: Map<number, { readonly directory: string; readonly name: string }>;
  /** The rows, which are sorted by id when they are read. */
  readonly bytes: Map<number, Uint8Array<ArrayBuffer>>;
  lastId: number;
}

type Row = { readonly [column: string]: unknown };
type Values = readonly never[];
interface Change {
  readonly query: string;
  readonly values: Values;
}

const inRange = (tables: Tables, from: number, to: number) => [...tables.bytes.keys()].filter((id) => id >= from && id < to).sort((a, b) => a - b);
const bytesOf = (tables: Tables, id: number) => tables.bytes.get(id) as Uint8Array<ArrayBuffer>;

/** The effect of each statement in SQLite. */
const STATEMENTS: { readonly [query: string]: (tables: Tables, ...values: Values) => Row[] } = {
  "CREATE TABLE IF NOT EXISTS reprise_files (id INTEGER PRIMARY KEY AUTOINCREMENT, directory TEXT NOT NULL, name TEXT NOT NULL, UNIQUE (directory, name))":
    () => [],
  "CREATE TABLE IF NOT EXISTS reprise_bytes (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL)": () => [],
  "SELECT name FROM reprise_files WHERE directory = ?": ({ files }, directory) => [...files.values()].filter((file) => file.directory === directory),
  "SELECT id FROM reprise_files WHERE directory = ? AND name = ?": ({ files }, directory, name) =>
    [...files].flatMap(([id, file]) => (file.directory === directory && file.name === name ? [{ id }] : [])),
  "SELECT id FROM reprise_files WHERE id = ?": ({ files }, id) => (files.has(id) ? [{ id }] : []),
  "INSERT INTO reprise_files (directory, name) VALUES (?, ?) RETURNING id": (tables, directory, name) => {
    for (const file of tables.files.values())
      if (file.directory === directory && file.name === name) throw new Error("UNIQUE constraint failed: SQLITE_CONSTRAINT");
    tables.files.set(++tables.lastId, { directory, name });
    return [{ id: tables.lastId }];
  },
  "UPDATE reprise_files SET name = ? WHERE id = ?": ({ files }, name, id) => {
    const file = files.get(id);
    if (file !== undefined) files.set(id, { ...file, name });
    return [];
  },
  "DELETE FROM reprise_files WHERE id = ?": ({ files }, id) => {
    files.delete(id);
    return [];
  },
  "DELETE FROM reprise_bytes WHERE id >= ? AND id < ?": (tables, from, to) => {
    for (const id of inRange(tables, from, to)) tables.bytes.delete(id);
    return [];
  },
  "SELECT id, length(bytes) AS length FROM reprise_bytes WHERE id >= ? AND id < ? ORDER BY id DESC LIMIT 1": (tables, from, to) => {
    const id = inRange(tables, from, to).at(-1);
    return id === undefined ? [] : [{ id, length: bytesOf(tables, id).length }];
  },
  "SELECT id, bytes FROM reprise_bytes WHERE id >= (SELECT max(id) FROM reprise_bytes WHERE id <= ?) AND id < ? ORDER BY id": (tables, at, to) => {
    const first = inRange(tables, 0, (at as number) + 1).at(-1);
    return first === undefined ? [] : inRange(tables, first, to).map((id) => ({ id, bytes: bytesOf(tables, id).slice().buffer }));
  },
  "INSERT INTO reprise_bytes (id, bytes) VALUES (?, ?)": (tables, id, bytes) => {
    if (tables.bytes.has(id)) throw new Error("UNIQUE constraint failed: SQLITE_CONSTRAINT");
    tables.bytes.set(id, checkedRow(new Uint8Array(bytes)));
    return [];
  },
  "UPDATE reprise_bytes SET bytes = CAST(bytes || ? AS BLOB) WHERE id = ?": (tables, bytes, id) => {
    tables.bytes.set(id, checkedRow(Uint8Array.from([...bytesOf(tables, id), ...new Uint8Array(bytes)])));
    return [];
  },
  "UPDATE reprise_bytes SET bytes = ? WHERE id = ?": (tables, bytes, id) => {
    tables.bytes.set(id, checkedRow(new Uint8Array(bytes)));
    return [];
  },
  "UPDATE reprise_bytes SET bytes = substr(bytes, 1, ?) WHERE id = ?": (tables, length, id) => {
    tables.bytes.set(id, bytesOf(tables, id).slice(0, length));
    return [];
  },
};

/** Cloudflare limits a row to 2 MB. */
function checkedRow(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  if (bytes.length > 2_000_000) throw new Error("string or blob too big: SQLITE_TOOBIG");
  return bytes.slice();
}

export class TestSqlite implements SqliteStorage {
  #tables: Tables = { files: new Map(), bytes: new Map(), lastId: 0 };
  #onDisk: Tables = copyOf(this.#tables);
  /** The changes since the last confirmation, as transactions. */
  #changes: Change[][] = [];
  /** The number of transactions whose turns have ended. */
  #turns = 0;
  #transaction: Change[] | undefined;
  /** The number of statements that made changes. */
  statements = 0;
  writes = 0;
  /** Called before each statement. If it returns a text, that is thrown as an error. */
  fault: ((query: string) => string | undefined) | undefined;
  /** The promise that `sync` waits for. */
  confirmed: Promise<unknown> | undefined;

  readonly sql = {
    exec: (query: string, ...values: readonly unknown[]): Row[] => {
      this.statements++;
      const text = this.fault?.(query);
      if (text !== undefined) throw new Error(text);
      return this.#exec({ query, values: values as Values });
    },
  };

  transactionSync<T>(call: () => T): T {
    const [before, outer] = [copyOf(this.#tables), this.#transaction];
    this.#transaction = [];
    try {
      const result = call();
      const done = this.#transaction;
      this.#transaction = outer;
      this.#note(done);
      return result;
    } catch (error) {
      this.#transaction = outer;
      this.#tables = before;
      throw error;
    }
  }

  async sync(): Promise<void> {
    await this.confirmed;
    this.settle();
  }

  /** Ends a turn of the event loop. The platform combines all writes of a turn into one transaction. */
  endTurn(): void {
    const done = this.#changes.splice(this.#turns).flat();
    if (done.length > 0) this.#changes.push(done);
    this.#turns = this.#changes.length;
  }

  /** Confirms that all changes are on the disk. */
  settle(): void {
    this.#onDisk = copyOf(this.#tables);
    this.#changes = [];
    this.#turns = 0;
  }

  /** The number of transactions that a crash may lose. */
  get unconfirmed(): number {
    return this.#changes.length;
  }

  /** The number of bytes that the unconfirmed transactions write. */
  get unconfirmedBytes(): number {
    return this.#changes.flat().reduce((sum, { values }) => sum + sizeOf(values), 0);
  }

  /** Returns the state after a crash: the content of the disk, and the first `transactions` transactions after it. */
  crash(transactions = 0): TestSqlite {
    const left = new TestSqlite();
    left.#tables = copyOf(this.#onDisk);
    for (const change of this.#changes.slice(0, transactions).flat()) left.#exec(change);
    left.settle();
    return left;
  }

  /** Like `crash`, with transactions until this many bytes are written. */
  crashAfter(bytes: number): TestSqlite {
    let left = bytes;
    let count = 0;
    for (; count < this.#changes.length && left > 0; count++) left -= (this.#changes[count] as Change[]).reduce((sum, { values }) => sum + sizeOf(values), 0);
    return this.crash(count);
  }

  #exec(change: Change): Row[] {
    const statement = STATEMENTS[change.query];
    if (statement === undefined) throw new Error(`unknown statement: ${change.query}`);
    const rows = statement(this.#tables, ...change.values);
    if (/^(INSERT|UPDATE|DELETE)/.test(change.query)) {
      this.writes++;
      this.#note([change]);
    }
    return rows;
  }

  #note(changes: Change[]): void {
    if (this.#transaction !== undefined) this.#transaction.push(...changes);
    else if (changes.length > 0) this.#changes.push(changes);
  }
}

function copyOf({ files, bytes, lastId }: Tables): Tables {
  return { files: new Map(files), bytes: new Map(bytes), lastId };
}

function sizeOf(values: Values): number {
  return values.reduce((sum, value: unknown) => sum + (value instanceof ArrayBuffer ? value.byteLength : 0), 0);
}

/** Returns a directory on this storage with the faults of `memory`, for tests of both. Here, synced means confirmed. */
export function sqliteWithFaults(options: MemoryOptions = {}, storage = new TestSqlite()): MemoryDirectory {
  const { name = "memory", files = [], fault } = options;
  const directory = sqlite(storage, { name });
  for (const [file, bytes] of files) writeFile(directory, file, bytes);
  storage.settle();
  const counts = new Map<string, number>();
  const faultOf = (kind: Operation["kind"], file: string, at: number, bytes: number) => {
    const index = counts.get(kind) ?? 0;
    counts.set(kind, index + 1);
    return fault?.({ kind, file, index, at, bytes });
  };
  const check = (kind: Operation["kind"], file: string, at = 0, bytes = 0) => {
    const found = faultOf(kind, file, at, bytes);
    if (found?.code !== undefined) throw codeError(found.code);
    return found?.bytes ?? bytes;
  };
  return {
    name,
    list: () => directory.list(),
    remove(file) {
      check("remove", file);
      directory.remove(file);
    },
    lock: (onTakeover) => directory.lock(onTakeover),
    open(file, create) {
      check("open", file);
      const inner = directory.open(file, create);
      return {
        get size() {
          return inner.size;
        },
        read: (into, at) => inner.read(into.subarray(0, check("read", file, at, into.length)), at),
        write(from, at) {
          const found = faultOf("write", file, at, from.length);
          const part = found === undefined ? from : from.subarray(0, found.bytes ?? 0);
          const written = part.length === 0 ? 0 : inner.write(part, at);
          if (found?.code !== undefined) throw codeError(found.code);
          return written;
        },
        truncate(bytes) {
          check("truncate", file, bytes);
          inner.truncate(bytes);
        },
        sync() {
          check("sync", file);
          storage.settle();
        },
        close: () => inner.close(),
      };
    },
    files: () => new Map(directory.list().map((file) => [file, readFile(directory, file)])),
    get unsynced() {
      return storage.unconfirmedBytes;
    },
    crash: (bytes = 0) => sqliteWithFaults({ name }, storage.crashAfter(bytes)),
  };
}

function writeFile(directory: Directory, name: string, bytes: Uint8Array): void {
  const file = directory.open(name, true);
  for (let done = 0; done < bytes.length; ) done += file.write(bytes.subarray(done), done);
  file.close();
}

function readFile(directory: Directory, name: string): Uint8Array<ArrayBuffer> {
  const file: StorageFile = directory.open(name, false);
  const bytes = new Uint8Array(file.size);
  for (let done = 0; done < bytes.length; ) done += file.read(bytes.subarray(done), done);
  file.close();
  return bytes;
}

function codeError(code: string): Error {
  return Object.assign(new Error(`${code}: as the test asks`), { code });
}
