/** Tests exports of the room Look: flagged episodes are left out, and the export opens again. */
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { unzipSync } from "fflate";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { openRlds } from "../../src/datasets/rlds/index.ts";
import { choose, data, player, whole } from "./look-support.ts";
import { inBrowsers, until } from "./support.ts";

/** Flags episodes with their buttons in the list. */
async function flag(page: Page, ...episodes: readonly number[]): Promise<void> {
  for (const episode of episodes) await page.locator(`#look-episode-${episode} .flag`).click();
  await page.getByText(`${episodes.length} flagged`, { exact: false }).first().waitFor();
}

const region = (page: Page) => page.getByRole("region", { name: "Export" });

/** Returns the file that the page saves. Playwright does not report downloads in Firefox, so there it reads the target of the link. */
async function saved(page: Page, click: () => Promise<void>): Promise<Uint8Array> {
  if (page.context().browser()?.browserType().name() === "chromium") {
    const downloading = page.waitForEvent("download");
    await click();
    return readFileSync(await (await downloading).path());
  }
  await page.evaluate(() => {
    const own = URL.createObjectURL;
    URL.createObjectURL = (blob: Blob) => {
      Object.assign(globalThis, { saved: blob });
      return own.call(URL, blob);
    };
  });
  await click();
  const address = () =>
    page.evaluate(async () => {
      const { saved: blob } = globalThis as { saved?: Blob };
      if (blob === undefined) return "";
      return new Promise<string>((resolve) => {
        const reader = Object.assign(new FileReader(), { onload: () => resolve(reader.result as string) });
        reader.readAsDataURL(blob);
      });
    });
  const found = await until(address, (text) => text !== "", "a zip");
  return Buffer.from(found.slice(found.indexOf(",") + 1), "base64");
}

/** Returns the files of the downloaded zip by their paths relative to its folder. */
async function exportedAs(page: Page, format: string, films = false): Promise<Map<string, Uint8Array>> {
  await region(page).getByLabel("Format").selectOption(format);
  const box = region(page).getByRole("checkbox");
  if ((await box.isVisible()) && !films) await box.uncheck();
  const zip = await saved(page, () => region(page).getByRole("button", { name: "Export as a zip" }).click());
  const files = Object.entries(unzipSync(zip));
  const [folder] = (files[0]?.[0] ?? "").split("/");
  return new Map(files.map(([name, bytes]) => [name.slice(`${folder}/`.length), bytes]));
}

/** Returns the number of exports in the private file system of the page. */
const zips = (page: Page) =>
  page.evaluate(async () => {
    const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle("look-exports");
    let count = 0;
    for await (const _ of (folder as unknown as { keys(): AsyncIterable<string> }).keys()) count++;
    return count;
  });

async function lengthsOf(from: string | Map<string, Uint8Array>): Promise<number[]> {
  const reader = await openRlds<unknown>(from);
  const lengths: number[] = [];
  for await (const { steps } of reader) lengths.push(steps.length);
  await reader.close();
  return lengths;
}

inBrowsers((open, name) => {
  it.each(["TFDS (RLDS)", "Parquet", "LeRobot v3.0", "JSON lines"])("exports the unflagged episodes as a zip: %s", async (format) => {
    const { page } = await open("#look");
    await choose(page, data("tfds/cartpole_pixels"));
    await whole(page);
    await flag(page, 0, 3);
    const files = await exportedAs(page, format);
    // LeRobot has no final observations.
    const final = format.startsWith("LeRobot") ? 1 : 0;
    const all = (await lengthsOf(data("tfds/cartpole_pixels"))).map((length) => length - final);
    expect(await lengthsOf(files)).toEqual(all.filter((_, i) => i !== 0 && i !== 3));
    await region(page).getByText("6 episodes with", { exact: false }).waitFor();
  });

  it("saves the flags for the command line", async () => {
    const { page } = await open("#look");
    await choose(page, data("tfds/cartpole_pixels"));
    await whole(page);
    const button = region(page).getByRole("button", { name: "Save the flags" });
    expect(await button.isDisabled()).toBe(true);
    await flag(page, 1, 5);
    const bytes = await saved(page, () => button.click());
    expect(JSON.parse(Buffer.from(bytes).toString())).toEqual({ dataset: "cartpole_pixels", flagged: [1, 5] });
  });

  it("removes a zip from the private disk after the download", async () => {
    const { page } = await open("#look");
    await page.clock.install();
    const number = async (count: number, what: string) => {
      await until(
        () => zips(page),
        (found) => found === count,
        what,
      );
    };
    await choose(page, data("tfds/cartpole_pixels"));
    await whole(page);
    await exportedAs(page, "Parquet");
    const again = region(page).getByRole("button", { name: /^Save .* again$/ });
    await again.waitFor();
    // The page keeps its newest export. It removes an older export a minute later, because a download may still read it.
    await page.clock.fastForward(61_000);
    await number(1, "the zip");
    await exportedAs(page, "JSON lines");
    await number(2, "two zips, of which a download may still read the first");
    await page.clock.fastForward(61_000);
    await number(1, "the second zip alone");
    await again.waitFor();
    await page.getByRole("link", { name: "Live" }).click();
    await again.waitFor({ state: "detached" });
    await number(1, "the zip that a download may still read");
    await page.clock.fastForward(61_000);
    await number(0, "the end of the second zip");
  });

  it("removes the zips of a previous page load", async () => {
    const { page } = await open("#look");
    await choose(page, data("tfds/cartpole_pixels"));
    await whole(page);
    await exportedAs(page, "Parquet");
    await region(page)
      .getByRole("button", { name: /^Save .* again$/ })
      .waitFor();
    await page.reload();
    await until(
      () => zips(page),
      (count) => count === 0,
      "an empty folder",
    );
  });

  it("exports into a folder if the browser can write to one", async () => {
    const { page } = await open();
    if (name === "firefox") return;
    // A test cannot press the buttons of the system dialog, so this replaces its result.
    await page.addInitScript(() => {
      Object.assign(globalThis, { showDirectoryPicker: async () => (await navigator.storage.getDirectory()).getDirectoryHandle("picked", { create: true }) });
    });
    await page.goto(`${page.url().split("#")[0]}#look`);
    await page.reload();
    await choose(page, data("tfds/cartpole_pixels"));
    await whole(page);
    await flag(page, 1);
    await region(page).getByLabel("Format").selectOption("Parquet");
    await region(page).getByRole("button", { name: "Export to a folder" }).click();
    await region(page).getByText("1 file was written to picked", { exact: false }).waitFor();
    const bytes = await page.evaluate(async () => {
      const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle("picked");
      const file = await (await folder.getFileHandle("part-00000.parquet")).getFile();
      return [...new Uint8Array(await file.arrayBuffer())];
    });
    expect(await lengthsOf(new Map([["part-00000.parquet", Uint8Array.from(bytes)]]))).toHaveLength(7);
  });

  it("exports LeRobot with films, plays them, and exports them again", async () => {
    const { page, errors } = await open("#look");
    await choose(page, data("tfds/cartpole_pixels"));
    await whole(page);
    await region(page).getByLabel("Format").selectOption("LeRobot v3.0");
    // A browser without an encoder reports this and stores images.
    if (await region(page).getByRole("checkbox").isDisabled()) return;
    const first = await exportedAs(page, "LeRobot v3.0", true);
    const film = [...first.keys()].find((path) => path.endsWith(".mp4"));
    expect(film).toBe("videos/observation.image/chunk-000/file-000.mp4");
    await page.reload();
    const folder = join(mkdtempSync(join(tmpdir(), "look-")), "filmed");
    for (const [path, bytes] of first) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), bytes);
    }
    await choose(page, folder);
    await whole(page);
    await page.locator("#look-episode-2").click();
    await player(page)
      .getByRole("heading", { name: /^Episode 2 / })
      .waitFor();
    const video = page.locator("figure video");
    await video.waitFor();
    await page.getByRole("button", { name: "One step on" }).click();
    // In the video, episode 2 follows two episodes of 24 frames each, so its second step is frame 49.
    await until(
      () => video.evaluate((element: HTMLVideoElement) => element.currentTime),
      (time) => Math.abs(time - 49 / 10) < 0.01,
      "the video's time",
    );
    await until(
      () => video.evaluate((element: HTMLVideoElement) => element.readyState),
      (state) => state >= 2,
      "a frame",
    );
    await flag(page, 0, 1, 2, 3, 4, 5);
    const again = await exportedAs(page, "LeRobot v3.0", true);
    expect(await lengthsOf(again)).toEqual([17, 19]);
    expect([...again.keys()].some((path) => path.endsWith(".mp4"))).toBe(true);
    expect(errors).toEqual([]);
  });
});
