/**
 * Checks that the memory of the browser does not grow while each room is used repeatedly. It is measured after the same number of rounds of each kind and a
 * garbage collection, so that the load of the machine does not matter. `npm run test:page -- memory --minutes 5` takes about five minutes per room on an idle
 * machine. Without minutes, it takes half a minute.
 */
import { readdirSync, readFileSync } from "node:fs";
import type { CDPSession, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { choose, data, dataServer, player, rows, whole } from "./look-support.ts";
import { listed, opened, press, status, steer } from "./player.ts";
import { inBrowsers, until } from "./support.ts";

const minutes = Number(process.env.REPRISE_PAGE_MINUTES ?? 0.5);
/** In a short run, each round has the same parts as in a long run, but takes a third of the time. */
const PACE = minutes < 0.5 ? 1 / 3 : 1;
const wait = (page: Page, ms: number) => page.waitForTimeout(PACE * ms);
/** The allowed growth of script memory in bytes. Only Chromium reports script memory. */
const LIVE_NOISE = 4 * 2 ** 20;
/** The allowed growth of the browser processes in bytes. In a short run, the browser still compiles hot code, and allocators keep memory that was once free. */
const HELD_NOISE = (minutes < 2 ? 160 : 40) * 2 ** 20;

interface Use {
  readonly name: string;
  readonly room: string;
  /** The number of rounds that includes all kinds of rounds, and the approximate time of a round in seconds. */
  readonly cycle: number;
  readonly seconds: number;
  /** Runs before the measurement, and does once everything that a round does. */
  begin(page: Page): Promise<void>;
  /** Runs repeatedly. Every round leaves the same state as the previous round. */
  round(page: Page, number: number): Promise<void>;
}

/** The datasets, as a folder and as files by address: with films, plots of many numbers, and texts, some with an index and some without. */
const DATASETS = ["tfds/cartpole_pixels", "d4rl/half_cheetah.hdf5", "extra/own.jsonl", "extra/plain.parquet", "extra/npz/flags.npz"];

const FORMATS = ["tfds", "lerobot", "minari", "lerobot-images"];

const USES: readonly Use[] = [
  {
    name: "of learning",
    room: "live",
    cycle: 8,
    seconds: 1,
    begin: (page) => page.locator(".segments label", { hasText: "16×" }).click(),
    round: (page) => page.waitForTimeout(1000),
  },
  {
    name: "of looking",
    room: "look",
    cycle: DATASETS.length,
    seconds: 4,
    async begin(page) {
      for (const each of DATASETS.keys()) await look(page, each);
    },
    round: look,
  },
  {
    name: "of recording",
    room: "record",
    cycle: FORMATS.length,
    seconds: 8,
    async begin(page) {
      page.on("dialog", (dialog) => dialog.accept());
      await opened(page);
      await play(page);
      for (const each of FORMATS.keys()) await record(page, each);
    },
    round: record,
  },
];

/** Opens another dataset, plays some of its episodes, and views everything that the room shows of it. */
async function look(page: Page, number: number): Promise<void> {
  const path = DATASETS[number % DATASETS.length] as string;
  if (path.includes(".")) {
    await page.getByLabel("Address of a dataset").fill(`${served.url}/${path}`);
    await page.keyboard.press("Enter");
  } else await choose(page, data(path));
  await whole(page);
  await player(page).getByLabel("Speed").selectOption("4");
  const episodes = Math.min(3, await rows(page).count());
  for (let episode = 0; episode < episodes; episode++) {
    await rows(page).nth(episode).click();
    await player(page)
      .getByRole("heading", { name: new RegExp(`^Episode ${episode} `) })
      .waitFor();
    await player(page).getByRole("button", { name: "Play", exact: true }).click();
    await wait(page, 1000);
  }
  await page.getByRole("region", { name: "Distributions" }).scrollIntoViewIfNeeded();
  await page.getByRole("region", { name: "Export" }).scrollIntoViewIfNeeded();
}

/** Plays an episode with keys and selects it. */
async function play(page: Page): Promise<void> {
  const next = ((await listed(page))[0]?.id ?? 0) + 1;
  await steer(page, "ArrowUp", next, 10);
  const tick = page.getByRole("checkbox", { name: `Use episode ${next}` });
  await tick.check();
  await until(() => tick.isEnabled(), Boolean, "the saved tick");
}

/** Plays an episode, shows it again, trains a clone, lets it play, exports, and deletes the older episode. */
async function record(page: Page, number: number): Promise<void> {
  await play(page);
  const [newest, oldest] = await listed(page);
  await press(page, `Show episode ${newest?.id}`);
  await wait(page, 700);
  await press(page, "Close");
  await press(page, "Train a clone");
  // The training may already be finished, so the bar and the button may be missing.
  await page.locator(".record .clone progress[value], .record .clone .result:not(:empty)").waitFor();
  await wait(page, 2000);
  await page
    .locator(".record .clone")
    .getByRole("button", { name: "Stop", exact: true })
    .click({ timeout: 1000 })
    .catch(() => undefined);
  await until(
    () => page.locator(".record .clone .result").innerText(),
    (text) => text !== "",
    "the clone's result",
  );
  await press(page, "Let the clone play");
  await until(
    () => status(page),
    (text) => text.startsWith("The clone"),
    "the clone's game",
  );
  await wait(page, 700);
  await press(page, "Stop the clone");
  await page.getByLabel("Format").selectOption(FORMATS[number % FORMATS.length] as string);
  await press(page, "Download as a zip");
  await until(
    () => page.locator(".record .export").innerText(),
    (text) => text.includes("2 episodes are in "),
    "the zip",
  );
  await press(page, `Delete episode ${oldest?.id}`);
  await until(
    () => listed(page),
    ({ length }) => length === 1,
    "a shorter list",
  );
}

/**
 * Returns the memory in bytes of all processes below this one, which are those of the browser. Shared pages count proportionally. Pages of files are excluded,
 * because their share grows when another browser exits.
 */
function held(): number {
  const parents = new Map<number, number>();
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    const status = read(`/proc/${pid}/status`);
    parents.set(Number(pid), Number(/^PPid:\s*(\d+)/m.exec(status)?.[1] ?? 0));
  }
  const isOurs = (pid: number): boolean => {
    const parent = parents.get(pid) ?? 0;
    return parent === process.pid || (parent > 1 && isOurs(parent));
  };
  const kibibytes = [...parents.keys()].filter(isOurs).flatMap((pid) => {
    const rollup = read(`/proc/${pid}/smaps_rollup`);
    return [/^Pss_Anon:\s*(\d+)/m, /^Pss_Shmem:\s*(\d+)/m].map((line) => Number(line.exec(rollup)?.[1] ?? 0));
  });
  return 1024 * kibibytes.reduce((sum, each) => sum + each, 0);
}

/** Reads a file, or returns an empty text if the process has exited since it was listed. */
function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

const NOTHING: Usage = { usedSize: 0, embedderHeapUsedSize: 0, backingStorageSize: 0 };

/** Measures the bytes that the scripts of a page and its workers use after a garbage collection. Only Chromium reports them. */
class Heaps {
  readonly #page: CDPSession;
  /** Sessions of workers, and the callers that wait for their responses. */
  readonly #workers = new Set<string>();
  readonly #answers = new Map<number, { readonly worker: string; readonly resolve: (result: Usage) => void }>();
  #calls = 0;

  private constructor(page: CDPSession) {
    this.#page = page;
    page.on("Target.attachedToTarget", ({ sessionId }) => void this.#workers.add(sessionId));
    page.on("Target.detachedFromTarget", ({ sessionId }) => {
      this.#workers.delete(sessionId);
      // A worker that has exited uses no memory.
      for (const [id, { worker }] of this.#answers) if (worker === sessionId) this.#answer(id, NOTHING);
    });
    page.on("Target.receivedMessageFromTarget", ({ message }) => {
      const { id, result } = JSON.parse(message) as { readonly id?: number; readonly result?: Usage };
      if (id !== undefined) this.#answer(id, result as Usage);
    });
  }

  #answer(id: number, result: Usage): void {
    this.#answers.get(id)?.resolve(result);
    this.#answers.delete(id);
  }

  static async of(page: Page): Promise<Heaps> {
    const heaps = new Heaps(await page.context().newCDPSession(page));
    await heaps.#page.send("Target.setAutoAttach", { autoAttach: true, waitForDebuggerOnStart: false, flatten: false });
    return heaps;
  }

  async live(): Promise<number> {
    const usages = await Promise.all([
      this.#collected((method) => this.#page.send(method) as Promise<Usage>),
      ...[...this.#workers].map((worker) => this.#collected((method) => this.#inWorker(worker, method))),
    ]);
    return usages.reduce((sum, { usedSize, embedderHeapUsedSize, backingStorageSize }) => sum + usedSize + embedderHeapUsedSize + backingStorageSize, 0);
  }

  async #collected(call: (method: "HeapProfiler.collectGarbage" | "Runtime.getHeapUsage") => Promise<Usage>): Promise<Usage> {
    // Objects finalized in the first collection may hold more objects.
    for (let i = 0; i < 3; i++) await call("HeapProfiler.collectGarbage");
    return await call("Runtime.getHeapUsage");
  }

  #inWorker(sessionId: string, method: string): Promise<Usage> {
    const id = ++this.#calls;
    return new Promise((resolve, reject) => {
      this.#answers.set(id, { worker: sessionId, resolve });
      this.#page.send("Target.sendMessageToTarget", { sessionId, message: JSON.stringify({ id, method }) }).catch(reject);
    });
  }
}

interface Usage {
  readonly usedSize: number;
  readonly embedderHeapUsedSize: number;
  readonly backingStorageSize: number;
}

interface Measurement {
  readonly held: number;
  readonly live: number | undefined;
}

/** Returns the minimum of several measurements, because garbage collected in between only lowers it. */
async function measured(page: Page, heaps: Heaps | undefined): Promise<Measurement> {
  const least = { held: Number.POSITIVE_INFINITY, live: heaps && Number.POSITIVE_INFINITY };
  for (let look = 0; look < 5; look++) {
    await page.requestGC();
    if (heaps !== undefined) least.live = Math.min(least.live as number, await heaps.live());
    await page.waitForTimeout(500);
    least.held = Math.min(least.held, held());
  }
  return least;
}

const middle = (values: readonly number[]) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] as number;
const inMiB = (bytes: number | undefined) => (bytes === undefined ? "-" : (bytes / 2 ** 20).toFixed(1));

let served: Awaited<ReturnType<typeof dataServer>>;
beforeAll(async () => {
  served = await dataServer();
});
afterAll(() => served[Symbol.asyncDispose]());

describe.runIf(process.platform === "linux")("memory", () => {
  inBrowsers((open, name) => {
    // In a short run, Firefox would have to grow by 160 MiB to fail.
    const isTooShort = name === "firefox" && minutes < 0.5;
    // The timeout only stops tests that hang.
    it.skipIf(isTooShort).each(USES)(
      `does not grow over ${minutes} minutes $name`,
      { timeout: (10 * minutes + 10) * 60_000 },
      async ({ room, cycle, seconds, begin, round }) => {
        const { page } = await open(`#${room}`);
        await begin(page);
        const heaps = name === "chromium" ? await Heaps.of(page) : undefined;
        const measurements: Measurement[] = [];
        let rounds = 0;
        const cycles = Math.max(2, Math.ceil((60 * minutes) / (cycle * seconds)));
        for (let k = 0; k < cycles; k++) {
          for (let i = 0; i < cycle; i++) await round(page, ++rounds);
          measurements.push(await measured(page, heaps));
        }
        const text = measurements.map((one) => `${inMiB(one.held)} (${inMiB(one.live)})`).join(" ");
        process.stderr.write(`${name}, ${room}: ${rounds} rounds, MiB of processes (and live ones of scripts) after each ${cycle}: ${text}\n`);
        const third = Math.ceil(measurements.length / 3);
        const [early, late] = [measurements.slice(0, third), measurements.slice(-third)];
        const grownBy = (bytes: (one: Measurement) => number) => middle(late.map(bytes)) - middle(early.map(bytes));
        for (const one of measurements) expect(one.held).toBeGreaterThan(20 * 2 ** 20);
        if (heaps !== undefined) expect(grownBy(({ live }) => live as number)).toBeLessThan(LIVE_NOISE);
        expect(grownBy((one) => one.held)).toBeLessThan(HELD_NOISE);
      },
    );
  });
});
