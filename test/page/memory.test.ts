/**
 * Each room, used minute after minute: what the browser holds in memory does not grow.
 * `npm run test:page -- memory --minutes 5` takes that long a room; without minutes, it is half of one.
 */
import { readdirSync, readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { choose, data, dataServer, player, rows, whole } from "./look-support.ts";
import { listed, opened, press, status, waits } from "./player.ts";
import { inBrowsers, until } from "./support.ts";

const minutes = Number(process.env.REPRISE_PAGE_MINUTES ?? 0.5);
/** Bytes that a browser may differ by from one third of the time to another; in a short time it is still compiling what is used often. */
const NOISE = (minutes < 2 ? 160 : 40) * 2 ** 20;

interface Use {
  readonly name: string;
  readonly room: string;
  /** Before anything is measured: whatever is done in a round is done once. */
  begin(page: Page): Promise<void>;
  /** Again and again; every round leaves as much behind as the one before. */
  round(page: Page, number: number): Promise<void>;
}

const USES: readonly Use[] = [
  {
    name: "of learning",
    room: "live",
    begin: (page) => page.locator(".segments label", { hasText: "16×" }).click(),
    round: (page) => page.waitForTimeout(1000),
  },
  {
    name: "of looking",
    room: "look",
    async begin(page) {
      for (const each of DATASETS.keys()) await look(page, each);
    },
    round: look,
  },
  {
    name: "of recording",
    room: "record",
    async begin(page) {
      page.on("dialog", (dialog) => dialog.accept());
      await opened(page);
      await play(page);
      for (const each of FORMATS.keys()) await record(page, each);
    },
    round: record,
  },
];

/** With films, plots of many numbers, texts, an index and none: a folder, and files by their addresses. */
const DATASETS = ["tfds/cartpole_pixels", "d4rl/half_cheetah.hdf5", "extra/own.jsonl", "extra/plain.parquet", "extra/npz/flags.npz"];

/** Opens another dataset, plays some of its episodes, and looks at all that is shown of it. */
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
    await page.waitForTimeout(1000);
  }
  await page.getByRole("region", { name: "Distributions" }).scrollIntoViewIfNeeded();
  await page.getByRole("region", { name: "Export" }).scrollIntoViewIfNeeded();
}

/** Plays an episode by keys, and has it used. */
async function play(page: Page): Promise<void> {
  const next = ((await listed(page))[0]?.id ?? 0) + 1;
  await page.getByRole("application").focus();
  await page.keyboard.press("Enter");
  await waits(page, next);
  await page.keyboard.down("ArrowUp");
  await page.waitForTimeout(700);
  await page.keyboard.up("ArrowUp");
  await page.keyboard.press("Escape");
  await until(
    () => listed(page),
    ([newest]) => newest?.id === next,
    "the episode in the list",
  );
  await page.getByRole("checkbox", { name: `Use episode ${next}` }).check();
}

const FORMATS = ["tfds", "lerobot", "minari", "lerobot-images"];

/** Plays an episode, shows it again, trains a clone, lets it play, exports, and deletes the older episode. */
async function record(page: Page, number: number): Promise<void> {
  await play(page);
  const [newest, oldest] = await listed(page);
  await press(page, `Show episode ${newest?.id}`);
  await page.waitForTimeout(700);
  await press(page, "Close");
  await press(page, "Train a clone");
  await page.locator(".record .clone progress[value]").waitFor();
  await page.waitForTimeout(2000);
  // It may be through by then.
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
  await page.waitForTimeout(700);
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
 * Bytes of memory of all processes below this one: those of the browser. Pages that processes share count by their share; those of files do not count, since the share of
 * each grows when another browser ends.
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

/** A process may have ended since it was listed. */
function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

const middle = (values: readonly number[]) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] as number;

let served: Awaited<ReturnType<typeof dataServer>>;
beforeAll(async () => {
  served = await dataServer();
});
afterAll(() => served[Symbol.asyncDispose]());

describe.runIf(process.platform === "linux")("memory", () => {
  inBrowsers((open, name) => {
    it.each(USES)(`is flat over ${minutes} minutes $name`, { timeout: (minutes + 3) * 60_000 }, async ({ room, begin, round }) => {
      const { page } = await open(`#${room}`);
      await begin(page);
      // Code is compiled, and pictures have their buffers.
      await page.waitForTimeout(10_000);
      const samples: number[] = [];
      const sampling = setInterval(() => samples.push(held()), 1000);
      let rounds = 0;
      try {
        for (const end = Date.now() + minutes * 60_000; Date.now() < end; ) await round(page, ++rounds);
      } finally {
        clearInterval(sampling);
      }
      const third = Math.floor(samples.length / 3);
      const [early, late] = [middle(samples.slice(0, third)), middle(samples.slice(-third))];
      const parts = Array.from({ length: 10 }, (_, i) =>
        middle(samples.slice(Math.floor((i * samples.length) / 10), Math.ceil(((i + 1) * samples.length) / 10))),
      );
      process.stderr.write(`${name}, ${room}: ${rounds} rounds, MiB in tenths of the time: ${parts.map((part) => (part / 2 ** 20).toFixed(0)).join(" ")}\n`);
      expect(early).toBeGreaterThan(20 * 2 ** 20);
      expect(late - early).toBeLessThan(NOISE);
    });
  });
});
