/** The log of a buffer that lives in a directory: its items as they came, its random state, and what an opening needs of other directories. */
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
  /** A directory whose items come first; it is only read. */
  readonly ancestor?: string | Directory | null;
  /** Told what was loaded, trimmed and repaired. */
  readonly logger?: Logger | null;
  /** When items go to the disk without `flush`; within a second where it is left out. */
  readonly durability?: Durability;
  /** "all": what is evicted stays on the disk, and comes back with a larger capacity; "capacity": it goes, a segment at a time. */
  readonly retain?: Retain;
  /** Where a segment ends; 16 MiB where it is left out. */
  readonly segmentBytes?: number;
  /** Opens a damaged directory: what stands before the damage is kept, the rest given up. */
  readonly salvage?: boolean;
  /** Takes the directory also from an owner of whom nobody can tell whether it still runs. */
  readonly takeOver?: boolean;
}

/** What a directory says of itself. */
interface DirectoryInfo {
  readonly family: Family;
  readonly ancestor: string | null;
}

/** Items that a segment brought, as long as some are there. */
interface SegmentItems {
  readonly segment: number;
  items: number;
}

/** In the place of a segment: other directories. */
const ELSEWHERE = 0;

export class BufferLog {
  readonly #log: Log;
  readonly #name: string;
  readonly #ancestors: readonly Directory[];
  readonly #module: WebAssembly.Module | undefined;
  readonly #family: Family;
  readonly #logger: FullLogger;
  readonly #retain: Retain;
  /** Oldest first. */
  readonly #segmentItems: SegmentItems[] = [];
  /** What could not be written after a call: the next one tells it. */
  #failure: Error | undefined;
  /** The random state, as the log has it. */
  #random: Uint8Array | undefined;

  /** @throws ReplayError NOT_FOUND for an ancestor that is not there · LOCKED, CORRUPT, UNSUPPORTED, IO, INVALID_DATA, SPEC_MISMATCH */
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

  /** Gives everything that there is to a sink, ancestors first. */
  *replay(loader: StoreLoader): Generator<Progress, void> {
    let done = false;
    try {
      let items = 0;
      for (const ancestor of this.#ancestors) {
        const log = Log.open(ancestor, { about: ABOUT, readOnly: true, logger: this.#logger, module: this.#module });
        try {
          // Its random state is not ours.
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

  /** From now on: what every segment begins with. @param random the state that was read @throws ReplayError IO where what was salvaged cannot be written */
  begin(random: Uint8Array | undefined, head: () => void): void {
    this.#random = random;
    this.#log.onSegment = head;
    if (!this.#log.salvaged) return;
    try {
      // What was given up goes now: later openings need no salvage.
      this.#log.flush();
    } catch (error) {
      this.#log.leave();
      throw error;
    }
  }

  get closed(): boolean {
    return this.#log.closed;
  }

  /** Before a call changes something. @throws ReplayError CLOSED · IO where the one before could not be written, or a sync failed; then this one does nothing */
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

  /** Whether a random state is what the log has. */
  knows(random: Uint8Array): boolean {
    return random.every((byte, i) => byte === this.#random?.[i]);
  }

  /** Ends what was written as one; and gives segments back whose items have all left. @param size items that are there */
  commit(size: number): void {
    try {
      this.#log.commit();
    } catch (error) {
      if ((error as Partial<ReplayError>).code !== "IO") throw error;
      // What was done stands, and is written as soon as that is possible.
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

  /** Lets go of the directory, and writes nothing. */
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
    const trimmed = items === size ? "" : `; ${items - size} of them are beyond the capacity, and were left out`;
    this.#logger.info(`${this.#name}: ${items} ${itemsName}${inheritedCount === 0 ? "" : ` (${inheritedCount} of its ancestors)`}${trimmed}`);
  }

  /** A directory's ancestors, the oldest first. */
  #ancestorsOf(ancestor: unknown, of: Directory): Directory[] {
    const chain: Directory[] = [];
    // Directories that are no paths may have one name.
    const visited = new Set<unknown>([of, of.path ?? of]);
    for (let at = ancestor; at !== null && at !== undefined; ) {
      const directory = directoryOf("ancestor", at);
      const location = directory.path ?? directory;
      if (visited.has(location)) throw mustBe(RangeError, "ancestor", "a directory that is not its own ancestor", directory.name);
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
      // Without a directory there is nothing to list.
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

/** A directory, by its path or itself. */
export function directoryOf(subject: string, value: unknown): Directory {
  if (typeof value === "string" && value !== "") return node(value);
  if (typeof (value as Directory | null)?.open === "function") return value as Directory;
  throw mustBe(TypeError, subject, "the path of a directory, or a Directory", value);
}

/** By what a directory is found again: its path, wherever the process goes. */
function directoryPath(directory: Directory | undefined): string | null {
  return directory?.path ?? directory?.name ?? null;
}

function checkOwner(directory: Directory, about: object, family: Family): DirectoryInfo {
  checkAbout(directory, about);
  const info = about as DirectoryInfo;
  if (info.family !== family) throw mustBe("SPEC_MISMATCH", directory.name, `of ${family}`, `one of ${info.family}`);
  return info;
}
