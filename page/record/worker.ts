/** Implements the room's worker, which owns the files, the demonstrations stored in them, and the clone that learns from the demonstrations. */
import { ReplayError } from "reprise";
import { memory, type OpfsDirectory, opfs } from "reprise/storage";
import { BATCH, Clone } from "./clone.ts";
import { Demonstrations } from "./demonstrations.ts";
import { datasetOf, write } from "./export.ts";
import type { FromWorker, Name, Questions, Saved, ToWorker, Trial } from "./messages.ts";

const FOLDER = "record";
/** The maximum number of milliseconds until a step is on the disk. */
const FLUSH_MS = 100;
/** The number of milliseconds until a failed write is retried. */
const RETRY_MS = 2000;
/** The number of milliseconds of learning between two checks for messages. */
const SLICE = 12;
/** The seeds of a trial's games, which players never get. */
const TRIAL = Array.from({ length: 20 }, (_, i) => 1_000_000 + i);

const say = (message: FromWorker) => postMessage(message);

let directory: OpfsDirectory | undefined;
let demonstrations: Demonstrations | undefined;
let clone: Clone | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;
let troubled = false;
let work = new AbortController();

const there = (): Demonstrations => {
  if (demonstrations === undefined) throw new Error("The recorded episodes are not open");
  return demonstrations;
};

/** Saves the data. The returned state is then on the disk. */
async function flush(): Promise<Saved> {
  clearTimeout(timer);
  timer = undefined;
  const store = there();
  // This is the state now, not the state when the write completes.
  const saved = listed();
  await store.flush();
  troubled = false;
  return { ...saved, bytes: store.bytes };
}

function listed(): Omit<Saved, "bytes"> {
  const { episodes, steps, next } = there();
  return { episodes, steps, next };
}

/** Saves the data soon and acknowledges it. On a slow disk, many steps are saved together. */
function flushSoon(after = FLUSH_MS): void {
  timer ??= setTimeout(() => {
    flush().then((saved) => say({ type: "saved", saved }), tell);
  }, after);
}

/** Reports unsaved data once, and retries, so that waiting data is saved when there is room. */
function tell(error: unknown): void {
  if (!troubled) say({ type: "trouble", message: sentenceOf(error) });
  troubled = true;
  flushSoon(RETRY_MS);
}

/** Returns the folder; undefined if the folder does not exist yet and the disk has no room for it. */
function onDisk(): Promise<OpfsDirectory | undefined> {
  return opfs(FOLDER).catch((error) => {
    if (isFull(error)) return undefined;
    throw error;
  });
}

/** Handles a full disk. Stored data can still be viewed, and waiting data is saved when there is room. */
function withoutRoom(error: unknown): Saved {
  if (!isFull(error)) throw error;
  troubled = true;
  flushSoon(RETRY_MS);
  return { ...listed(), bytes: there().bytes };
}

const answers: { readonly [N in Name]: (...args: Parameters<Questions[N]>) => ReturnType<Questions[N]> | Promise<ReturnType<Questions[N]>> } = {
  async open() {
    const storage = (navigator as { storage?: { getDirectory?(): Promise<unknown> } }).storage;
    // In private windows, some browsers have this method but reject the call.
    const lasting = await Promise.resolve(storage?.getDirectory?.()).then(
      (root) => root !== undefined,
      () => false,
    );
    if (lasting) directory = await onDisk();
    try {
      const opened = await Demonstrations.open(directory ?? memory());
      ({ demonstrations } = opened);
      const { cut } = opened;
      const saved = await flush().catch(withoutRoom);
      return { ...saved, cut, lasting: directory !== undefined, full: troubled || (lasting && directory === undefined) };
    } catch (error) {
      directory?.close();
      throw error;
    }
  },
  async reset() {
    const root = await navigator.storage.getDirectory();
    await root.removeEntry(FOLDER, { recursive: true });
  },
  async begin(seed) {
    // Data that waits for room is saved first, so that no game is lost.
    if (troubled) await flush();
    there().begin(seed);
  },
  end(ending, seen) {
    there().end(ending, seen);
    return flush();
  },
  use(id, used) {
    there().use(id, used);
    return flush();
  },
  delete(id) {
    there().delete(id);
    return flush();
  },
  read: (id) => there().read(id),
  act(state) {
    if (clone === undefined) throw new Error("There is no clone yet. Train one first");
    return clone.actions([state])[0] as [number, number];
  },
  train,
  async export(format, to) {
    const { signal } = begun();
    const store = there();
    const { episodes: of } = datasetOf(store);
    const { episodes } = await write(format, store, to, {
      signal,
      overwrite: true,
      onProgress: ({ episodes }) => say({ type: "exporting", episodes, of }),
    });
    return { episodes, files: to instanceof Map ? to : undefined };
  },
  async leave() {
    work.abort();
    if (demonstrations === undefined) return;
    demonstrations.end("stopped");
    await demonstrations.flush();
    demonstrations.close();
    directory?.close();
  },
};

/** Stops the current task, and returns the controller of the next one. Only one task runs at a time. */
function begun(): AbortController {
  work.abort();
  work = new AbortController();
  return work;
}

async function train(updates: number): Promise<Trial | undefined> {
  const { signal } = begun();
  const store = there();
  if (!store.episodes.some(({ used }) => used)) throw new Error("There are no episodes to learn from. Play first, or tick an episode");
  const learner = new Clone(1);
  let [done, error] = [0, 0];
  for (let end = performance.now() + SLICE; done < updates && !signal.aborted; ) {
    const batch = store.lesson(BATCH);
    const one = learner.learn(batch.steps, done / updates);
    batch.release();
    error = done++ === 0 ? one : 0.95 * error + 0.05 * one;
    if (performance.now() < end) continue;
    say({ type: "learning", done, of: updates, error });
    await new Promise((resolve) => setTimeout(resolve));
    end = performance.now() + SLICE;
  }
  if (done === 0) {
    learner.dispose();
    return undefined;
  }
  say({ type: "learning", done, of: updates, error });
  clone?.dispose();
  clone = learner;
  return { docked: learner.trial(TRIAL), games: TRIAL.length };
}

function isFull(error: unknown): boolean {
  const { name, cause } = error as Error;
  return [name, (cause as Error | undefined)?.name].includes("QuotaExceededError");
}

function sentenceOf(error: unknown): string {
  if (isFull(error)) return "There is no room left on this disk for this page: the last steps are not saved. Free some space, and they will be saved";
  if (error instanceof ReplayError && error.code === "LOCKED") return "The room Record is open in another tab. Close it there, then reload this page";
  return (error as Error).message;
}

addEventListener("message", async ({ data }: MessageEvent<ToWorker>) => {
  if (data.type === "stop") return work.abort();
  if (data.type === "step") {
    try {
      there().add(data.step);
      flushSoon();
    } catch (error) {
      tell(error);
    }
    return;
  }
  const { id, name, args } = data;
  try {
    const value = await (answers[name] as (...args: unknown[]) => unknown)(...args);
    say({ type: "answer", id, value });
  } catch (error) {
    if (error instanceof ReplayError && error.code === "IO" && demonstrations !== undefined) tell(error);
    const { code } = error as { code?: string };
    say({ type: "refusal", id, message: sentenceOf(error), ...(typeof code === "string" && { code }) });
  }
});
addEventListener("unhandledrejection", ({ reason }) => say({ type: "trouble", message: sentenceOf(reason) }));
