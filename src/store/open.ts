/** A Replay that survives: `Replay.open` makes it in a directory, or brings back what is there. */

import { Changes } from "../core/changes.ts";
import { flag, integer, mustBe, onlyKeys, ReplayError } from "../error.ts";
import { engineOf, Replay, type ReplayOptions, trackedReplay } from "../replay.ts";
import type { Spec } from "../spec/spec.ts";
import { ready } from "./directory/builtins.ts";
import type { Directory } from "./directory/directory.ts";
import { node } from "./directory/node.ts";
import { checkHead, headOf, type StateHead } from "./format/head.ts";
import { Journal } from "./journal/journal.ts";
import { Recovery } from "./journal/recovery.ts";
import { checkDurability, type Durability, EVERY_SECOND } from "./log/durability.ts";
import { Log } from "./log/log.ts";
import type { Logger } from "./log/scan.ts";
import { type Retain, retainOf } from "./retain.ts";

export interface OpenOptions<S extends Spec = Spec, N extends string = string> extends Partial<ReplayOptions<S, N>> {
  /** A directory's path (Node, Deno, Bun), or what `opfs` or `memory` gave. */
  readonly dir: string | Directory;
  /** When what a call changed is on the disk; a second later at most where it is left out. */
  readonly durability?: Durability;
  /** Where it is left out: what was said when the directory was made, then "capacity", which gives space back. */
  readonly retain?: Retain;
  /** Bytes of a file, about; 16 MiB where it is left out. */
  readonly segmentBytes?: number;
  /** Whether to go on with what stands before damage in the middle, and to cut off the rest. */
  readonly salvage?: boolean;
  readonly logger?: Logger;
  readonly signal?: AbortSignal;
  /** Told how far opening has come. */
  readonly onProgress?: (progress: { readonly bytes: number; readonly of: number }) => void;
}

/** A Replay with a journal. */
export type OpenReplay<S extends Spec = Spec, N extends string = string> = Replay<S, N> & {
  readonly journal: Journal;
  /** Resolves when everything so far is on the disk. */
  flush(): Promise<void>;
};

const OPTIONS = "dir, spec, tables, maxBytes, seed, module, durability, retain, segmentBytes, salvage, logger, signal, onProgress";
const SEGMENT = 16 << 20;
/** Bytes that are read between two looks at the signal. */
const BREATH = 32 << 20;

/** What a directory says of the Replay in it. */
interface About extends Omit<StateHead, "options"> {
  readonly content: "replay";
  readonly options: Omit<StateHead["options"], "maxBytes">;
  readonly retain: Retain;
}

/**
 * Opens a Replay in a directory: a new one, or the one that is there, as it was after some call, and at least after all that was flushed. The next draws are
 * those that it would have given. Its writers are in `writers`. O(bytes of the files); memory for one section beside the Replay.
 * @throws ReplayError LOCKED where another process has it open · CORRUPT where a file is damaged before its end (see `salvage`) · IO · NOT_FOUND where `spec` is
 * left out and nothing is there · SPEC_MISMATCH where something else is there than the options say; or the signal's reason
 */
export async function open<const S extends Spec = Spec, const N extends string = string>(options: OpenOptions<S, N>): Promise<OpenReplay<S, N>> {
  const {
    dir,
    durability = EVERY_SECOND,
    retain,
    segmentBytes = SEGMENT,
    salvage = false,
    logger,
    signal,
    onProgress,
    module,
  } = onlyKeys("Replay.open", options, OPTIONS);
  const how = {
    durability: checkDurability(durability),
    segmentBytes: integer("segmentBytes", segmentBytes, 4096),
  };
  if (retain !== undefined) retainOf(retain);
  flag("salvage", salvage);
  signal?.throwIfAborted();
  await ready;
  const directory = typeof dir === "string" ? node(dir) : dir;
  const replay = make(options.spec === undefined ? known(directory, options) : (options as ReplayOptions));
  const log = Log.open(directory, {
    about: about(replay, retain ?? "capacity"),
    durability: "manual",
    segmentBytes,
    salvage,
    ...(logger && { logger }),
    ...(module && { module }),
  });
  try {
    const there = aboutIn(directory, log);
    same(about(replay, retain ?? there.retain), there, directory.name);
    const places = placesFor(replay.options.maxBytes, segmentBytes);
    const changes = new Changes(engineOf(replay), replay, places);
    const recovery = new Recovery(replay, changes, directory.name);
    let next = BREATH;
    for (const progress of log.replay((kind, id, payload, segment) => recovery.visit(kind, id, payload, segment))) {
      onProgress?.(progress);
      if (progress.bytes < next) continue;
      next = progress.bytes + BREATH;
      await new Promise((resolve) => setTimeout(resolve));
      signal?.throwIfAborted();
    }
    recovery.finish();
    return attach(replay as unknown as Replay<S, N>, new Journal(replay, changes, log, { ...how, retain: there.retain }, recovery.kept));
  } catch (error) {
    log.close();
    throw error;
  }
}

function make(options: ReplayOptions): Replay {
  const { spec, tables, seed, maxBytes, module } = options;
  return trackedReplay({
    spec,
    ...(tables && { tables }),
    ...(seed !== undefined && { seed }),
    ...(maxBytes !== undefined && { maxBytes }),
    ...(module && { module }),
  });
}

function about(replay: Replay, retain: Retain): About {
  const { version, options, layout } = headOf(replay);
  const { maxBytes: _, ...kept } = options;
  return { content: "replay", version, options: kept, layout, retain };
}

/** @throws ReplayError SPEC_MISMATCH where something else is there · UNSUPPORTED where another version's state is */
function aboutIn(directory: Directory, log: Log): About {
  const { content } = log.about as About;
  if (content !== "replay") throw otherwise(directory.name, "content", "replay", content);
  checkHead(directory.name, log.about);
  return log.about as About;
}

/** The options of the Replay that is there, but for those that are given. */
function known(directory: Directory, { maxBytes, tables, seed, module }: Pick<OpenOptions, "maxBytes" | "tables" | "seed" | "module">): ReplayOptions {
  const log = Log.open(directory, { about: {}, readOnly: true, ...(module && { module }) });
  log.close();
  if (log.isNew) throw new ReplayError("NOT_FOUND", `there is no Replay in ${directory.name}: give spec and tables to make one`);
  const { options } = aboutIn(directory, log);
  const { spec } = options;
  return { spec, tables: tables ?? options.tables, seed: seed ?? BigInt(options.seed), ...(maxBytes !== undefined && { maxBytes }), ...(module && { module }) };
}

/** @throws ReplayError SPEC_MISMATCH naming the first thing that differs */
function same(asked: object, there: object, name: string, path = ""): void {
  for (const key of new Set([...Object.keys(asked), ...Object.keys(there)])) {
    const [a, b] = [asked, there].map((value) => (value as { [key: string]: unknown })[key]);
    if (typeof a === "object" && typeof b === "object" && a !== null && b !== null) same(a, b, name, `${path}${key}.`);
    else if (a !== b) throw otherwise(name, `${path}${key}`, a, b);
  }
}

function otherwise(name: string, key: string, asked: unknown, there: unknown): Error {
  return mustBe("SPEC_MISMATCH", key, `${JSON.stringify(there)} as in ${name} (or leave spec and tables out, or take another directory)`, asked);
}

/** Segments that can be told apart: more than the files may ever be. */
function placesFor(maxBytes: number, segmentBytes: number): number {
  let places = 1024;
  while (places < 65_536 && places < (4 * maxBytes) / segmentBytes) places *= 2;
  return places;
}

function attach<S extends Spec, N extends string>(replay: Replay<S, N>, journal: Journal): OpenReplay<S, N> {
  return Object.defineProperties(replay, {
    journal: { value: journal, enumerable: true },
    flush: { value: () => journal.flush() },
    dispose: {
      value(): void {
        try {
          journal.close();
        } finally {
          Replay.prototype.dispose.call(replay);
        }
      },
    },
  }) as OpenReplay<S, N>;
}
