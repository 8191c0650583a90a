/** Tests the room Record as a user operates it. */
import { unzipSync } from "fflate";
import type { Locator, Page } from "playwright-core";
import { openRlds } from "reprise/rlds";
import { describe, expect, it } from "vitest";
import { Game } from "../../page/record/game.ts";
import { boat, ending, figure, listed, opened, pointed, press, ringOf, status, steer, waits } from "./player.ts";
import { inBrowsers, inWorker, type Open, until } from "./support.ts";

async function record(open: Open, options = {}): Promise<Page> {
  const { page } = await open("#record", options);
  await opened(page);
  return page;
}

/** Plays the first episodes by pointing at the ring: two run on rocks, and the third docks. */
async function three(page: Page): Promise<void> {
  await press(page, "Play");
  expect(await pointed(page, 1)).toBe("You hit a rock after 18 steps. Saved as episode 1.");
  expect(await pointed(page, 2)).toBe("You hit a rock after 14 steps. Saved as episode 2.");
  expect(await pointed(page, 3)).toBe("You docked after 60 steps. Saved as episode 3.");
  await press(page, "Stop");
}

/** Opens the room with a disk that takes half a second to save. */
async function onSlowDisk(page: Page): Promise<void> {
  const slow = `const { flush } = FileSystemSyncAccessHandle.prototype;
    FileSystemSyncAccessHandle.prototype.flush = function () {
      for (const end = performance.now() + 500; performance.now() < end; );
      return flush.call(this);
    };`;
  await inWorker(page, "record", slow);
  await page.getByRole("link", { name: "Record" }).click();
  await opened(page);
}

const THREE = [
  { id: 3, steps: 60, return: 0.8, ending: "docked", used: true },
  { id: 2, steps: 14, return: -1.05, ending: "wrecked", used: false },
  { id: 1, steps: 18, return: -1.06, ending: "wrecked", used: false },
];

inBrowsers((open, name) => {
  it("saves episodes played with the mouse, and lists them again after a reload", async () => {
    const page = await record(open);
    expect(await listed(page)).toEqual([]);
    await three(page);
    expect(await listed(page)).toEqual(THREE);
    expect(await figure(page, "Steps saved")).toBe(92);
    await page.reload();
    await opened(page);
    expect(await listed(page)).toEqual(THREE);
    expect([await figure(page, "Episodes saved"), await figure(page, "Steps saved")]).toEqual([3, 92]);
    expect(await status(page)).toContain("Steer with the arrow keys");
  });

  it("excludes and includes episodes, and deletes them after a confirmation", async () => {
    const page = await record(open);
    await three(page);
    const used = async () => (await listed(page)).filter((row) => row.used).map(({ id }) => id);
    await page.getByRole("checkbox", { name: "Use episode 2" }).check();
    await page.getByRole("checkbox", { name: "Use episode 3" }).uncheck();
    await until(used, (ids) => ids.join() === "2", "the ticks");
    page.once("dialog", (dialog) => dialog.dismiss());
    await press(page, "Delete episode 1");
    const asked: string[] = [];
    page.once("dialog", (dialog) => {
      asked.push(dialog.message());
      return dialog.accept();
    });
    await press(page, "Delete episode 3");
    await until(
      async () => (await listed(page)).length,
      (count) => count === 2,
      "a shorter list",
    );
    expect(asked).toEqual(["Delete episode 3 with its 60 steps? This cannot be undone."]);
    await page.reload();
    await opened(page);
    expect((await listed(page)).map(({ id, used }) => [id, used])).toEqual([
      [2, true],
      [1, false],
    ]);
    // The numbers of deleted episodes are never reused.
    await press(page, "Play");
    await waits(page, 4);
  });

  it("is steered with keys: Enter starts an episode, and Escape stops and saves it", async () => {
    const page = await record(open);
    await page.getByRole("application").focus();
    await page.keyboard.press("Enter");
    await waits(page, 1);
    const pixel = () => boat(page);
    const before = await pixel();
    await page.keyboard.down("ArrowRight");
    await until(
      () => figure(page, "Steps saved"),
      (steps) => steps >= 5,
      "five steps",
    );
    await page.keyboard.up("ArrowRight");
    expect((await pixel())[0]).toBeGreaterThan(before[0] as number);
    await page.keyboard.press("Escape");
    const said = await until(
      () => status(page),
      (text) => text.startsWith("Stopped"),
      "its end",
    );
    const [row] = await listed(page);
    expect(row).toMatchObject({ id: 1, ending: "stopped", used: false });
    expect(said).toBe(`Stopped after ${row?.steps} steps. Saved as episode 1.`);
  });

  it("gives each episode its own number, even if the disk is slower than the player", async () => {
    const { page } = await open();
    await onSlowDisk(page);
    await press(page, "Play");
    await waits(page, 1);
    await page.keyboard.down("ArrowRight");
    await until(
      () => figure(page, "Steps saved"),
      (steps) => steps >= 1,
      "a step",
    );
    await page.keyboard.up("ArrowRight");
    await press(page, "Stop");
    await press(page, "Play");
    await until(
      () => status(page),
      (text) => text.startsWith("Episode"),
      "the next episode",
    );
    expect(await status(page)).toMatch(/^Episode 2:/);
    expect((await listed(page)).map(({ id, ending }) => [id, ending])).toEqual([[1, "stopped"]]);
  });

  it("does not move the focus while a tick is saved", async () => {
    const { page } = await open();
    await onSlowDisk(page);
    await steer(page, "ArrowRight", 1);
    const tick = page.getByRole("checkbox", { name: "Use episode 1" });
    const stage = page.getByRole("application");
    const play = page.getByRole("button", { name: "Show episode 1" });
    /** Changes the tick and moves the focus in one task of the page, so that the change cannot be saved in between. */
    const change = async (other?: Locator) => {
      const used = !(await tick.isChecked());
      const target = await other?.elementHandle();
      await tick.evaluate((box: HTMLInputElement, next) => {
        box.focus();
        box.click();
        next?.focus();
      }, target);
      await until(
        () => tick.isChecked(),
        (now) => now === used,
        "the tick",
      );
      await until(() => tick.isEnabled(), Boolean, "the saved tick");
      expect(await (other ?? tick).evaluate((element) => element === document.activeElement)).toBe(true);
    };
    await change();
    await change(play);
    await change(stage);
    await page.keyboard.press("Enter");
    await waits(page, 2);
  });

  it("is steered with a gamepad", async () => {
    const { page } = await open();
    await page.addInitScript(() => {
      const pad = { connected: true, axes: [0.05, 1], buttons: [] };
      Object.defineProperty(navigator, "getGamepads", { value: () => [null, pad] });
    });
    await page.goto(`${page.url().split("#")[0]}?#record`);
    await opened(page);
    await press(page, "Play");
    const [, y] = await boat(page);
    await until(
      () => figure(page, "Steps saved"),
      (steps) => steps >= 5,
      "five steps",
    );
    expect((await boat(page))[1]).toBeGreaterThan(y as number);
  });

  it("keeps the saved steps of an episode whose tab was closed, and marks it as cut", async () => {
    const page = await record(open);
    await three(page);
    await press(page, "Play");
    await waits(page, 4);
    await page.mouse.move(...(await ringOf(page, 4)));
    await page.mouse.down();
    await until(
      () => figure(page, "Steps saved"),
      (steps) => steps >= 92 + 20,
      "twenty steps more",
    );
    const saved = await figure(page, "Steps saved");
    await page.close();
    const next = await page.context().newPage();
    await next.goto(page.url());
    await opened(next);
    const [cut, ...others] = await listed(next);
    expect(others).toEqual(THREE);
    expect(cut).toMatchObject({ id: 4, ending: "cut", used: false });
    expect(await figure(next, "Steps saved")).toBe(92 + (cut?.steps as number));
    expect(await figure(next, "Steps saved")).toBeGreaterThanOrEqual(saved);
    expect(await status(next)).toBe(`The page was closed or crashed during episode 4. Its ${cut?.steps} saved steps are in the list, marked as cut.`);
  });

  it("ends the episode when the visitor leaves the room, and opens again afterwards", async () => {
    const page = await record(open);
    await press(page, "Play");
    await waits(page, 1);
    await page.keyboard.down("ArrowLeft");
    await until(
      () => figure(page, "Steps saved"),
      (steps) => steps >= 3,
      "three steps",
    );
    await page.getByRole("link", { name: "Live" }).click();
    await page.getByRole("link", { name: "Record" }).click();
    await opened(page);
    expect(await listed(page)).toMatchObject([{ id: 1, ending: "stopped" }]);
  });

  it("replays an episode from any of its steps", async () => {
    const page = await record(open);
    await three(page);
    await press(page, "Show episode 3");
    await until(
      () => page.locator(".record .place").innerText(),
      (text) => text === "step 60 of 60",
      "its last step",
    );
    const { state } = new Game(3);
    await page.getByRole("slider", { name: "Step of episode 3" }).fill("0");
    expect(await page.locator(".record .place").innerText()).toBe("step 0 of 60");
    const [x, y] = await boat(page);
    expect(x).toBeCloseTo(state[0] as number, 1);
    expect(y).toBeCloseTo(state[1] as number, 1);
    await press(page, "Resume");
    await until(
      () => page.locator(".record .place").innerText(),
      (text) => text === "step 60 of 60",
      "its last step",
    );
    await press(page, "Close");
    expect(await page.getByRole("slider").count()).toBe(0);
    expect((await listed(page)).length).toBe(3);
  });

  it("trains a clone and lets it play, without recording the clone", async () => {
    const page = await record(open);
    expect(await page.getByRole("button", { name: "Train a clone" }).isDisabled()).toBe(true);
    await three(page);
    await press(page, "Train a clone");
    await page.locator(".record .clone progress").waitFor();
    const said = await until(
      () => page.locator(".record .clone .result").innerText(),
      (text) => text !== "",
      "the clone's result",
      150_000,
    );
    expect(said).toMatch(/^The clone docked in \d+ of 20 games it has never seen\. Its error is 0\.\d+\.$/);
    await press(page, "Let the clone play");
    await until(
      () => status(page),
      (text) => /^The clone (docked|ran)/.test(text),
      "the end of the clone's game",
    );
    await press(page, "Stop the clone");
    expect(await listed(page)).toEqual(THREE);
  });

  it("stops the training of a clone", async () => {
    const page = await record(open);
    await three(page);
    await press(page, "Train a clone");
    await page.locator(".record .clone progress[value]").waitFor();
    await press(page, "Stop");
    await until(
      () => page.locator(".record .clone .result").innerText(),
      (text) => text.startsWith("The clone docked"),
      "a clone that knows little",
    );
  });

  it("shows an alert if another tab has the room open", async () => {
    const page = await record(open);
    const second = await page.context().newPage();
    await second.goto(page.url());
    const alert = await until(
      () => second.getByRole("alert").allInnerTexts(),
      (texts) => texts.length > 0,
      "an alert",
    );
    expect(alert).toEqual(["The room Record is open in another tab. Close it there, then reload this page."]);
    expect(await second.locator(".record .play").isDisabled()).toBe(true);
  });

  it("shows an alert if the browser stores no files, and can still be played", async () => {
    const { page } = await open();
    // Simulates a private window of Firefox, in which the worker's call is rejected.
    await inWorker(page, "record", 'StorageManager.prototype.getDirectory = () => Promise.reject(new DOMException("no", "SecurityError"));');
    await page.getByRole("link", { name: "Record" }).click();
    await opened(page);
    expect(await page.getByRole("alert").innerText()).toContain("This browser keeps no files for pages here");
    await press(page, "Play");
    await pointed(page, 1);
    expect((await listed(page)).map(({ id, ending }) => [id, ending])).toEqual([[1, "wrecked"]]);
    expect(await page.locator(".record .figures").innerText()).toContain("Steps, not saved");
    expect(await page.getByRole("alert").innerText()).toContain("is lost when the page is closed");
  });

  it("reports damaged data, and starts again after the visitor deletes it", async () => {
    const page = await record(open);
    await three(page);
    await page.getByRole("link", { name: "Live" }).click();
    await page.locator(".room.live").waitFor();
    // The position is in the middle of the data that was written first.
    await until(
      () =>
        page.evaluate(async () => {
          const root = await navigator.storage.getDirectory();
          const file = await (await root.getDirectoryHandle("record")).getFileHandle("file-1");
          const stream = await file.createWritable({ keepExistingData: true }).catch(() => undefined);
          await stream?.write({ type: "write", position: 200_000, data: new Uint8Array(64) });
          await stream?.close();
          return stream !== undefined;
        }),
      Boolean,
      "the damage, once the room's worker has let go of the file",
    );
    await page.getByRole("link", { name: "Record" }).click();
    expect(await page.getByRole("alert").innerText()).toContain("is truncated or altered at byte");
    expect(await page.locator(".record .play").isDisabled()).toBe(true);
    page.once("dialog", (dialog) => dialog.accept());
    await press(page, "Delete it and start again");
    await opened(page);
    expect(await listed(page)).toEqual([]);
    expect(await page.getByRole("alert").count()).toBe(0);
    await press(page, "Play");
    await pointed(page, 1);
  });

  it("reports a full disk, keeps the saved steps, and lists them after a reload", async () => {
    const { page } = await open();
    // Simulates a disk that is full after the first two episodes.
    const full = `let room = 500_000;
      const { write } = FileSystemSyncAccessHandle.prototype;
      FileSystemSyncAccessHandle.prototype.write = function (from, options) {
        room -= from.byteLength;
        if (room < 0) throw new DOMException("No capacity available for this operation", "QuotaExceededError");
        return write.call(this, from, options);
      };`;
    await inWorker(page, "record", full);
    await page.getByRole("link", { name: "Record" }).click();
    await opened(page);
    await press(page, "Play");
    await pointed(page, 1);
    await pointed(page, 2);
    await waits(page, 3);
    await page.mouse.move(...(await ringOf(page, 3)));
    await page.mouse.down();
    const alerts = await until(
      () => page.getByRole("alert").allInnerTexts(),
      (texts) => texts.length > 0,
      "an alert",
    );
    await page.mouse.up();
    expect(alerts).toHaveLength(1);
    expect(alerts[0]).toContain("There is no room left on this disk for this page: the last steps are not saved.");
    expect(await page.locator(".record .play").innerText()).toBe("Play");
    const [saved, list] = [await figure(page, "Steps saved"), await listed(page)];
    expect(saved).toBeGreaterThanOrEqual(32);
    expect(list).toEqual(THREE.slice(1));
    await page.unroute("**/record/worker.js");
    await page.reload();
    await opened(page);
    expect((await listed(page)).slice(-2)).toEqual(list);
    expect(await figure(page, "Steps saved")).toBeGreaterThanOrEqual(saved);
  });

  /** Simulates a full disk: no file can grow or be created. */
  const FULL = `const full = () => { throw new DOMException("No capacity available for this operation", "QuotaExceededError"); };
    FileSystemSyncAccessHandle.prototype.write = full;
    const { getFileHandle } = FileSystemDirectoryHandle.prototype;
    FileSystemDirectoryHandle.prototype.getFileHandle = function (name) {
      return getFileHandle.call(this, name).catch(full);
    };`;

  it("opens with a full disk, shows and exports saved episodes, and prevents a new game", async () => {
    const page = await record(open);
    await three(page);
    await page.getByRole("link", { name: "Live" }).click();
    // This removes a spare file. While the disk is full, no other file can be created in its place.
    await until(
      () =>
        page.evaluate(async () => {
          const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle("record");
          return folder.removeEntry("file-4").then(
            () => true,
            () => false,
          );
        }),
      Boolean,
      "the file's end, once the room's worker has let go of it",
    );
    await inWorker(page, "record", FULL);
    await page.getByRole("link", { name: "Record" }).click();
    await opened(page);
    const alerts = () => page.getByRole("alert").allInnerTexts();
    const told =
      "There is no room left on this disk: nothing new can be saved until you make some. You can still look at what is here, and save it as a dataset.";
    expect(await alerts()).toEqual([told]);
    expect(await listed(page)).toEqual(THREE);
    await press(page, "Play");
    await until(alerts, ([text]) => text?.includes("Free some space") === true, "a refusal");
    expect(await page.locator(".record .play").innerText()).toBe("Play");
    await press(page, "Show episode 3");
    await until(
      () => status(page),
      (text) => text === "Episode 3, as it was recorded.",
      "the episode",
    );
    await press(page, "Close");
    await page.getByLabel("Format").selectOption("tfds");
    await press(page, "Download as a zip");
    await until(
      () => page.locator(".record .export").innerText(),
      (text) => text.includes("1 episode is in docking-tfds.zip."),
      "the zip",
    );
    await page.unroute("**/record/worker.js");
    await page.reload();
    await opened(page);
    expect(await listed(page)).toEqual(THREE);
    expect(await page.getByRole("alert").count()).toBe(0);
  });

  it("opens for the first time with a full disk, and warns that recordings are lost", async () => {
    const { page } = await open();
    await inWorker(page, "record", FULL);
    await page.getByRole("link", { name: "Record" }).click();
    await opened(page);
    expect(await page.getByRole("alert").innerText()).toBe(
      "There is no room left on this disk: what you record is lost when the page is closed. Save it as a dataset first.",
    );
    await press(page, "Play");
    await pointed(page, 1);
    expect((await listed(page)).map(({ id, ending }) => [id, ending])).toEqual([[1, "wrecked"]]);
  });

  it("saves datasets as zips that the readers open", async () => {
    const page = await record(open);
    await three(page);
    for (const [format, steps] of [
      ["tfds", 61],
      ["lerobot", 60],
      ["lerobot-images", 60],
      ["minari", undefined],
    ] as const) {
      await page.getByLabel("Format").selectOption(format);
      // Playwright does not report downloads of this Firefox.
      const download = name === "chromium" ? page.waitForEvent("download") : undefined;
      await press(page, "Download as a zip");
      await until(
        () => page.locator(".record .export").innerText(),
        (text) => text.includes(`1 episode is in docking-${format}.zip.`),
        "the end",
      );
      const file = await download;
      if (file === undefined) continue;
      expect(file.suggestedFilename()).toBe(`docking-${format}.zip`);
      const chunks: Buffer[] = [];
      for await (const chunk of await file.createReadStream()) chunks.push(chunk as Buffer);
      const files = new Map(Object.entries(unzipSync(Buffer.concat(chunks))).map(([path, bytes]) => [path.slice(path.indexOf("/") + 1), bytes]));
      if (steps === undefined) {
        expect([...files.keys()]).toContain("docking-v0/data/0/part-0.parquet");
        continue;
      }
      const data = await openRlds(files);
      const lengths: number[] = [];
      for await (const episode of data) {
        let count = 0;
        for await (const _ of episode.steps) count++;
        lengths.push(count);
      }
      await data.close();
      expect(lengths).toEqual([steps]);
    }
  });

  describe("the picture", () => {
    for (const colorScheme of ["light", "dark"] as const) {
      it(`appears before the first game, and fits 360 pixels: ${colorScheme}`, async () => {
        const page = await record(open, { viewport: { width: 360, height: 740 }, colorScheme });
        expect(await boat(page)).not.toContain(Number.NaN);
        await press(page, "Play");
        await pointed(page, 1);
        await press(page, "Stop");
        const button = await page.getByRole("button", { name: "Delete episode 1" }).boundingBox();
        const list = await page.locator(".record .list").boundingBox();
        expect((button?.x as number) + (button?.width as number)).toBeLessThanOrEqual((list?.x as number) + (list?.width as number));
        expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
        expect(await page.locator(".record .list").evaluate((element) => element.scrollWidth <= element.clientWidth)).toBe(true);
      });
    }
  });

  describe.runIf(name === "chromium")("features that are tested only in Chromium", () => {
    it("is steered by touch", async () => {
      const page = await record(open, { hasTouch: true, isMobile: true, viewport: { width: 390, height: 844 } });
      await press(page, "Play");
      await waits(page, 1);
      const session = await page.context().newCDPSession(page);
      const [x, y] = await ringOf(page, 1);
      const text = await ending(page, "Saved as episode 1.");
      await session.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: [{ x, y }] });
      await text();
      await session.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
      expect((await listed(page))[0]).toMatchObject({ steps: 18, ending: "wrecked" });
    });

    it("saves into a folder that the user picks", async () => {
      const { page } = await open();
      await page.addInitScript(() => {
        // The dialog belongs to the system, so this returns a real folder instead.
        const picked = () => navigator.storage.getDirectory().then((root) => root.getDirectoryHandle("picked", { create: true }));
        Object.defineProperty(globalThis, "showDirectoryPicker", { value: picked });
      });
      await page.goto(`${page.url().split("#")[0]}?#record`);
      await opened(page);
      await three(page);
      await page.getByLabel("Format").selectOption("tfds");
      await press(page, "Save to a folder …");
      await until(
        () => page.locator(".record .export").innerText(),
        (text) => text.includes("1 episode is in the folder picked/docking-tfds."),
        "the end",
      );
      const there = await page.evaluate(async () => {
        const root = await navigator.storage.getDirectory();
        let folder = await root.getDirectoryHandle("picked");
        for (const name of ["docking-tfds", "docking", "1.0.0"]) folder = await folder.getDirectoryHandle(name);
        const names: string[] = [];
        for await (const key of (folder as unknown as { keys(): AsyncIterable<string> }).keys()) names.push(key);
        return names.sort();
      });
      expect(there).toEqual(["dataset_info.json", "docking-train.tfrecord-00000-of-00001", "features.json"]);
    });
  });
});
