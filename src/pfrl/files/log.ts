/** Implements the log of a buffer in a directory: its items in the order of arrival, its random state, and references to other directories. */
import { flag, mustBe, ReplayError } from "../../base/error.ts";
import { CLEAR, EPISODE, ITEM, RANDOM, SINGLE } from "../../base/kinds.ts";
import { type FullLogger, loggerOf } from "../../base/warnings.ts";
import { type Directory, type Durability, Log, type Logger, node } from "../../storage/index.ts";
import { checkRetain, type Retain } from "../../storage/log/durability.ts";
import { deliver, type Family, type Write } from "../store/history.ts";
import type { Progress } from "./incremental.ts";
import type { StoreLoader } from "./loader.ts";
import { ABOUT, checkAbout } from "./save.ts";

export interface PersistenceOptions {
  /** A directory whose items come before the items of this directory. The ancestor is only read. Default: none. */
  readonly ancestor?: string | Directory | null;
  /** Receives messages about loaded items, items that exceed the capacity, and repaired files. */
  readonly logger?: Logger | null;
  /** The time at which items are written to the disk without `flush`. Default: within a second. */
  readonly durability?: Durability;
  /**
   * The policy for evicted items on the disk. With "all", they stay on the disk, and a later buffer with a larger capacity loads them again. With "capacity",
   * evicted items are removed from the disk, one segment at a time. Default: "all".
   */
  readonly retain?: Retain;
  /** The size at which a segment ends, in bytes. Default: 16 MiB. */
  readonly segmentBytes?: number;
  /** Whether to open a damaged directory. The data before the damage is kept, and the rest is dropped. Default: false. */
  readonly salvage?: boolean;
  /** Whether to take the directory from an owner if it cannot be determined whether the owner still runs. Default: false. */
  readonly takeOver?: boolean;
}

/** The metadata of a directory. */
interface DirectoryInfo {
  readonly family: Family;
  readonly ancestor: string | null;
}

/** A segment, and the number of items that it added. The segment is needed while at least one of these items is stored. */
interface SegmentItems {
  readonly segment: number;
  items: number;
}

/** Used in place of a segment number for the items of ancestors. */
const ELSEWHERE = 0;

export class BufferLog {
  readonly #log: Log;
  readonly #name: string;
  readonly #ancestors: readonly Directory[];
  readonly #module: WebAssembly.Module | undefined;
  readonly #family: Family;
  readonly #logger: FullLogger;
  readonly #retain: Retain;
  /** The items of each segment, oldest first. */
  readonly #segmentItems: SegmentItems[] = [];
  /** The error with which the preceding call failed to write its data. The next call throws it. */
  #failure: Error | undefined;
  /** The newest random state in the log. */
  #random: Uint8Array | undefined;

  /** @throws ReplayError NOT_FOUND if an ancestor does not exist · LOCKED, CORRUPT, UNSUPPORTED, IO, INVALID_DATA, SPEC_MISMATCH */
  constructor(directory: Directory, family: Family, options: PersistenceOptions, module: WebAssembly.Module | undefined) {
    const { ancestor = null, logger, durability, retain = "all", segmentBytes, salvage, takeOver } = options;
    this.#family = family;
    this.#name = directory.name;
    this.#logger = loggerOf(logger);
    this.#retain = checkRetain(retain);
    this.#module = module;
    this.#ancestors = this.#ancestorsOf(ancestor, directory);
    const about = { ...ABOUT, family, ancestor: directoryPath(this.#ancestors.at(-1)) };
    const logOptions = { about, durability, segmentBytes, salvage: flag("salvage", salvage ?? false) !== 0, takeOver, module };
    this.#log = Log.open(directory, { ...logOptions, logger: this.#logger });
    try {
      checkOwner(directory, this.#log.about, family);
    } catch (error) {
      this.#log.leave();
      throw error;
    }
  }

  /** Passes all stored data to a loader, ancestors first, and finishes the loader. */
  *replay(loader: StoreLoader): Generator<Progress, void> {
    let done = false;
    try {
      let items = 0;
      for (const ancestor of this.#ancestors) {
        const log = Log.open(ancestor, { about: ABOUT, readOnly: true, logger: this.#logger, module: this.#module });
        try {
          // The random state of the ancestor is not used.
          yield* this.#deliver(log, (kind, id, payload) => {
            if (kind !== RANDOM) deliver(loader, kind, id, payload);
            this.#count(kind, ELSEWHERE);
          });
        } finally {
          log.close();
        }
      }
      items = this.#items;
      yield* this.#deliver(this.#log, (kind, id, payload, segment) => {
        deliver(loader, kind, id, payload);
        this.#count(kind, segment);
      });
      const { size } = loader;
      loader.finish();
      done = true;
      this.#reportItems(size, items);
    } finally {
      if (!done) {
        loader.cancel();
        this.#log.leave();
      }
    }
  }

  /**
   * Sets the function that writes the head of every segment. @param random the loaded random state, if any
   * @throws ReplayError IO if salvaged data cannot be written
   */
  begin(random: Uint8Array | undefined, head: () => void): void {
    this.#random = random;
    this.#log.onSegment = head;
    if (!this.#log.salvaged) return;
    try {
      // Cuts off the damaged data now, so that later openings need no salvage.
      this.#log.flush();
    } catch (error) {
      this.#log.leave();
      throw error;
    }
  }

  get closed(): boolean {
    return this.#log.closed;
  }

  /**
   * Checks before a call changes anything.
   * @throws ReplayError CLOSED · IO if the preceding call could not be written, or if a sync failed. In that case, nothing has changed
   */
  check(): void {
    if (this.#log.closed) throw new ReplayError("CLOSED", `${this.#name} was closed, or another buffer has opened it`);
    this.#log.check();
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure !== undefined) throw failure;
  }

  readonly write: Write = (kind, id, payload) => {
    this.#log.write(kind, id, payload);
    this.#count(kind, this.#log.segment);
    if (kind === RANDOM) this.#random = payload;
  };

  /** Returns whether `random` equals the newest random state in the log. */
  knows(random: Uint8Array): boolean {
    return random.every((byte, i) => byte === this.#random?.[i]);
  }

  /**
   * Ends a group. If `retain` is "capacity", also removes segments whose items were all evicted.
   * @param size the number of stored items
   */
  commit(size: number): void {
    try {
      this.#log.commit();
    } catch (error) {
      if ((error as Partial<ReplayError>).code !== "IO") throw error;
      // The data remains in memory until it can be written.
      this.#log.warn(error as Error);
      this.#failure = error as Error;
    }
    if (this.#retain === "all") return;
    let evicted = this.#items - size;
    for (let first = this.#segmentItems[0]; this.#segmentItems.length > 1 && first !== undefined && first.items <= evicted; first = this.#segmentItems[0]) {
      evicted -= first.items;
      this.#segmentItems.shift();
      if (first.segment !== ELSEWHERE && first.segment !== this.#log.segment) this.#log.drop(first.segment);
    }
  }

  flush(): void {
    this.#log.flush();
    this.#failure = undefined;
  }

  confirm(): Promise<void> {
    return this.#log.confirm();
  }

  close(): void {
    this.#log.close();
  }

  /** Releases the directory without writing. */
  leave(): void {
    this.#log.leave();
  }

  get #items(): number {
    return this.#segmentItems.reduce((sum, { items }) => sum + items, 0);
  }

  *#deliver(log: Log, visit: Parameters<Log["replay"]>[0]): Generator<Progress, void> {
    for (const { bytes, of } of log.replay(visit)) yield { done: bytes, of };
  }

  #count(kind: number, segment: number): void {
    let last = this.#segmentItems.at(-1);
    if (last?.segment !== segment) {
      last = { segment, items: 0 };
      this.#segmentItems.push(last);
    }
    if (kind === SINGLE || kind === ITEM || kind === EPISODE) last.items++;
    if (kind === CLEAR) for (const segmentItems of this.#segmentItems) segmentItems.items = 0;
  }

  #reportItems(size: number, inheritedCount: number): void {
    const items = this.#items;
    if (items === 0) return;
    const itemsName = this.#family;
    const trimmed = items === size ? "" : `; ${items - size} of them exceed the capacity and were left out`;
    this.#logger.info(`${this.#name}: ${items} ${itemsName}${inheritedCount === 0 ? "" : ` (${inheritedCount} of its ancestors)`}${trimmed}`);
  }

  /** Returns a directory's ancestors, the oldest first. */
  #ancestorsOf(ancestor: unknown, of: Directory): Directory[] {
    const chain: Directory[] = [];
    // Directories without a path may share a name.
    const visited = new Set<unknown>([of, of.path ?? of]);
    for (let at = ancestor; at !== null && at !== undefined; ) {
      const directory = directoryOf("ancestor", at);
      const location = directory.path ?? directory;
      if (visited.has(location)) throw mustBe(RangeError, "ancestor", "a directory that is not among its own ancestors", directory.name);
      visited.add(location);
      chain.unshift(directory);
      at = this.#readInfo(directory).ancestor;
    }
    return chain;
  }

  #readInfo(directory: Directory): DirectoryInfo {
    let log: Log | undefined;
    try {
      log = Log.open(directory, { about: ABOUT, readOnly: true, module: this.#module });
    } catch (error) {
      // A missing directory is reported below as NOT_FOUND.
      if ((error as { cause?: { code?: string } }).cause?.code !== "ENOENT") throw error;
    }
    if (log === undefined || log.isNew) throw mustBe("NOT_FOUND", "ancestor", "the directory of a persistent buffer", directory.name);
    try {
      return checkOwner(directory, log.about, this.#family);
    } finally {
      log.close();
    }
  }
}

/** Returns a directory from its path, or the directory itself. */
export function directoryOf(subject: string, value: unknown): Directory {
  if (typeof value === "string" && value !== "") return node(value);
  if (typeof (value as Directory | null)?.open === "function") return value as Directory;
  throw mustBe(TypeError, subject, "the path of a directory, or a Directory", value);
}

/** Returns the path that the metadata stores for a directory, or the directory's name if it has no path; null for no directory. */
function directoryPath(directory: Directory | undefined): string | null {
  return directory?.path ?? directory?.name ?? null;
}

function checkOwner(directory: Directory, about: object, family: Family): DirectoryInfo {
  checkAbout(directory, about);
  const info = about as DirectoryInfo;
  if (info.family !== family) throw new ReplayError("SPEC_MISMATCH", `${directory.name} must contain ${family}, got ${info.family}`);
  return info;
}
