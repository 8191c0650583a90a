/** Tests the room Look as a user operates it: files, folders, drops, addresses, clicks and keys. */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { root } from "../support/core.ts";
import { choose, data, dataServer, dataset, player, rows, whole } from "./look-support.ts";
import { inBrowsers, until } from "./support.ts";

async function step(page: Page): Promise<string> {
  return page.getByRole("slider", { name: "Step" }).inputValue();
}

inBrowsers((open, name) => {
  describe("opens", () => {
    it.each([
      ["tfds/cartpole", "TFDS", 40],
      ["minari/cartpole/scripted-v0", "Minari", 12],
      ["d4rl/half_cheetah.hdf5", "D4RL", 16],
      ["extra/lerobot_v2", "LeRobot", 3],
      ["extra/lerobot_v3", "LeRobot", 3],
      ["extra/plain.parquet", "Parquet", 3],
      ["extra/own.jsonl", "JSON lines", 3],
      ["extra/npz/flags.npz", "NPZ", 3],
      ["golden/journal", "Journal of Reprise", 7],
      ["golden/snapshot.rpr", "Snapshot of Reprise", 7],
    ])("%s", async (path, format, episodes) => {
      const { page } = await open("#look");
      await choose(page, data(path));
      await whole(page);
      await dataset(page).getByText(format, { exact: true }).waitFor();
      await until(
        () => rows(page).count(),
        (count) => count >= Math.min(episodes, 10),
        "rows of the list",
      );
      expect(await rows(page).first().getAttribute("aria-setsize")).toBe(String(episodes));
      await player(page)
        .getByRole("heading", { name: /^Episode 0 · [\d,]+ steps$/ })
        .waitFor();
      await player(page).getByRole("img").first().waitFor();
      expect(await page.getByRole("alert").count()).toBe(0);
    });

    it("a dropped file", async () => {
      const { page } = await open("#look");
      await page.getByRole("heading", { level: 1 }).waitFor();
      const bytes = [...readFileSync(data("extra/plain.parquet"))];
      const transfer = await page.evaluateHandle((all) => {
        const made = new DataTransfer();
        made.items.add(new File([Uint8Array.from(all)], "dropped.parquet"));
        return made;
      }, bytes);
      await page.locator(".room").dispatchEvent("drop", { dataTransfer: transfer });
      await dataset(page).getByRole("heading", { name: "dropped.parquet" }).waitFor();
      await whole(page);
    });

    it.runIf(name === "chromium")("a dropped folder from the disk", async () => {
      const { page } = await open("#look");
      await page.getByRole("heading", { level: 1 }).waitFor();
      const session = await page.context().newCDPSession(page);
      for (const type of ["dragEnter", "dragOver", "drop"] as const)
        await session.send("Input.dispatchDragEvent", { type, x: 200, y: 200, data: { items: [], files: [data("tfds/cartpole")], dragOperationsMask: 1 } });
      await dataset(page).getByText("TFDS", { exact: true }).waitFor();
      await whole(page);
    });

    it("an address with range requests", async () => {
      await using server = await dataServer();
      const { page } = await open("#look");
      await page.getByLabel("Address of a dataset").fill(`${server.url}/d4rl/half_cheetah.hdf5`);
      await page.keyboard.press("Enter");
      await whole(page);
      await dataset(page).getByText("D4RL", { exact: true }).waitFor();
      expect(server.asked.every((line) => line.includes("bytes=") || line.includes("all"))).toBe(true);
      expect(server.asked.some((line) => line.includes("bytes="))).toBe(true);
    });

    it("the next file after an error that names the faulty file", async () => {
      const { page } = await open("#look");
      await page
        .getByLabel("Choose files")
        .setInputFiles({ name: "broken.parquet", mimeType: "", buffer: Buffer.from("PAR1 and nothing else that a file would have") });
      await page.getByRole("alert").waitFor();
      const text = (await page.getByRole("alert").textContent()) ?? "";
      expect(text).toContain("broken.parquet");
      expect(text).toMatch(/\.$/);
      await page.getByLabel("Choose files").setInputFiles({ name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("hello") });
      await page.getByText("the format is unknown").waitFor();
      await choose(page, data("extra/own.jsonl"));
      await whole(page);
      expect(await page.getByRole("alert").count()).toBe(0);
    });

    it("no address except those of http and https", async () => {
      const { page } = await open("#look?from=javascript:alert(1)");
      await page.getByRole("alert").getByText("an address must begin with https:// or http://").waitFor();
    });
  });

  describe("shows", () => {
    it("episodes by key, in each order, and only the flagged ones", async () => {
      const { page } = await open("#look");
      await choose(page, data("tfds/cartpole"));
      await whole(page);
      await page.getByRole("listbox", { name: "Episodes" }).focus();
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("ArrowDown");
      await player(page)
        .getByRole("heading", { name: /^Episode 2 / })
        .waitFor();
      await page.keyboard.press("End");
      await player(page)
        .getByRole("heading", { name: /^Episode 39 / })
        .waitFor();
      await page.keyboard.press("f");
      await page.keyboard.press("Home");
      await page.keyboard.press("F");
      await page.getByText("40 episodes, 2 flagged").waitFor();
      await page.getByLabel("Which episodes").selectOption("Flagged");
      await until(
        () => rows(page).count(),
        (count) => count === 2,
        "flagged rows",
      );
      expect(await rows(page).nth(1).getAttribute("aria-label")).toMatch(/^Episode 39, .* steps, return .*, flagged$/);
      await page.getByLabel("Which episodes").selectOption("All");
      await page.getByLabel("Order").selectOption("Longest first");
      const lengths = await until(
        () => rows(page).locator(".length").allTextContents(),
        (all) => Number(all[0]) > 100,
        "lengths",
      );
      expect(lengths.map(Number)).toEqual(lengths.map(Number).sort((a, b) => b - a));
      await page.keyboard.press("Tab");
    });

    it("a step selected by slider, button or plot, and plays to the end", async () => {
      const { page } = await open("#look");
      await choose(page, data("tfds/cartpole_pixels"));
      await whole(page);
      await player(page).getByRole("button", { name: "One step on" }).click();
      await player(page).getByRole("button", { name: "One step on" }).click();
      expect(await step(page)).toBe("2");
      await player(page).getByRole("cell", { name: "keep the pole up (2)" }).waitFor();
      await page.getByRole("slider", { name: "Step" }).focus();
      await page.keyboard.press("ArrowRight");
      expect(await step(page)).toBe("3");
      const place = await player(page).locator(".u-over").first().boundingBox();
      await player(page)
        .locator(".u-over")
        .first()
        .click({ position: { x: (place?.width ?? 0) / 2, y: 10 } });
      await until(
        () => step(page),
        (at) => at === "12",
        "the step that was clicked",
      );
      // The film shows the images of the episode, so it has more than one color.
      const colours = await player(page)
        .locator("figure canvas")
        .evaluate((canvas: HTMLCanvasElement) => {
          const { data } = (canvas.getContext("2d") as CanvasRenderingContext2D).getImageData(0, 0, canvas.width, canvas.height);
          return new Set(Array.from({ length: data.length / 4 }, (_, i) => `${data[4 * i]},${data[4 * i + 1]},${data[4 * i + 2]}`)).size;
        });
      expect(colours).toBeGreaterThan(2);
      await page.getByLabel("Speed").selectOption("4 ×");
      await player(page).getByRole("button", { name: "Play" }).click();
      await until(
        () => step(page),
        (at) => at === "24",
        "the last step",
      );
      await player(page).getByRole("button", { name: "Play" }).waitFor();
    });

    it("distributions, and findings that lead to their steps", async () => {
      const { page } = await open("#look");
      const line = (x: number | string, more: object = {}) =>
        JSON.stringify({ observation: [x, 1], action: 0, reward: 1, discount: 1, is_first: false, is_last: false, is_terminal: false, ...more });
      const good = [line(0, { is_first: true }), line(1), line(2, { is_last: true })];
      const broken = [line(0, { is_first: true }), line(1), line("NaN"), line(3), line(4, { is_last: true })];
      const buffer = Buffer.from([...good, ...good, ...broken].join("\n"));
      await page.getByLabel("Choose files").setInputFiles({ name: "faulty.jsonl", mimeType: "", buffer });
      await whole(page);
      const findings = page.getByRole("region", { name: "Findings" });
      await findings.getByText("1 of 3 episodes has faults.").waitFor();
      await findings.getByRole("button", { name: "Episode 2, step 2" }).click();
      await player(page)
        .getByRole("heading", { name: /^Episode 2 / })
        .waitFor();
      await until(
        () => step(page),
        (at) => at === "2",
        "the step of the finding",
      );
      await findings.getByRole("button", { name: "Flag all episodes with findings" }).click();
      await page.getByText("3 episodes, 1 flagged").waitFor();
      const distributions = page.getByRole("region", { name: "Distributions" });
      await distributions.getByText("1 not finite", { exact: false }).waitFor();
      await distributions.getByRole("img", { name: "Distribution of observation" }).waitFor();
    });

    it("names and texts of files as plain text, never as markup", async () => {
      const { page } = await open("#look");
      const evil = "<img src=x onerror=\"document.title='owned'\"><b>";
      const line = (more: object) =>
        JSON.stringify({
          observation: { [evil]: 1 },
          action: 0,
          reward: 1,
          discount: 1,
          is_first: false,
          is_last: false,
          is_terminal: false,
          [evil]: evil,
          ...more,
        });
      const buffer = Buffer.from([line({ is_first: true }), line({ is_last: true, observation: { [evil]: "NaN" } })].join("\n"));
      await page.getByLabel("Choose files").setInputFiles({ name: `${evil}.jsonl`, mimeType: "", buffer });
      await whole(page);
      await dataset(page).getByRole("heading", { name: evil }).waitFor();
      await player(page)
        .getByRole("rowheader", { name: `observation/${evil}` })
        .waitFor();
      await page.getByRole("region", { name: "Findings" }).getByText(`observation/${evil}`).waitFor();
      await page.getByRole("region", { name: "Distributions" }).getByText(evil, { exact: true }).first().waitFor();
      expect(await page.locator(".room img, .room b").count()).toBe(0);
      expect(await page.title()).toBe("Look · Reprise");
    });
  });

  it("fits 360 pixels, and stops its worker when it closes", async () => {
    const { page } = await open("#look", { viewport: { width: 360, height: 740 } });
    await choose(page, data("tfds/cartpole_pixels"));
    await whole(page);
    await player(page).getByRole("img").first().waitFor();
    const [wide, sight = 0] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
    // A scroll bar may take some of the width.
    expect([wide, sight <= 360]).toEqual([sight, true]);
    // Playwright does not report workers in Firefox.
    if (name === "chromium") expect(page.workers()).toHaveLength(1);
    await page.evaluate(() => {
      location.hash = "#record";
    });
    await page.getByRole("listbox", { name: "Episodes" }).waitFor({ state: "detached" });
    await until(
      () => page.workers().filter((worker) => worker.url().includes("/look/")).length,
      (count) => count === 0,
      "the worker's end",
    );
  });

  it("streams files without an index, and can stop and continue reading", async () => {
    const { page } = await open("#look");
    const episode = (i: number) =>
      JSON.stringify({
        steps: Array.from({ length: 40 }, (_, k) => ({
          observation: [i, k],
          action: k % 2,
          reward: 1,
          discount: 1,
          is_first: k === 0,
          is_last: k === 39,
          is_terminal: false,
        })),
      });
    const path = join(mkdtempSync(join(tmpdir(), "look-")), "long.jsonl");
    writeFileSync(path, Array.from({ length: 9000 }, (_, i) => episode(i)).join("\n"));
    await page.getByLabel("Choose files").setInputFiles(path);
    // The first episode is visible while the other episodes load.
    await player(page)
      .getByRole("heading", { name: /^Episode 0 / })
      .waitFor();
    await dataset(page).getByRole("button", { name: "Stop" }).click();
    await dataset(page)
      .getByText(/^Reading has stopped after [\d,]+ episodes\.$/)
      .waitFor();
    await dataset(page).getByRole("button", { name: "Continue reading" }).click();
    await whole(page);
    await page.getByText("9,000 episodes", { exact: true }).waitFor();
    await page.getByRole("listbox", { name: "Episodes" }).focus();
    await page.keyboard.press("End");
    await player(page)
      .getByRole("heading", { name: /^Episode 8999 / })
      .waitFor();
    expect(await rows(page).count()).toBeLessThan(60);
  });

  it("stops while it waits for a folder's list of files, and then opens another dataset", async () => {
    const { page } = await open("#look");
    await page.route("**/index.json", () => undefined);
    await page.getByLabel("Address of a dataset").fill(new URL("data/", page.url()).href);
    const asked = page.waitForRequest("**/index.json");
    await page.keyboard.press("Enter");
    await asked;
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByText("Opening").waitFor({ state: "detached" });
    expect(await page.getByRole("alert").count()).toBe(0);
    await choose(page, data("extra/own.jsonl"));
    await whole(page);
  });

  it("opens the dataset of serve-page at the printed address", async () => {
    const server = spawn(process.execPath, [join(root, "dist/cli.js"), "serve-page", data("extra/lerobot_v3")]);
    try {
      const address = await new Promise<string>((resolve, reject) => {
        server.stdout.on("data", (bytes) => {
          const found = /http:\S+/.exec(String(bytes));
          if (found !== null) resolve(found[0]);
        });
        server.on("exit", () => reject(new Error("serve-page ended before it told its address")));
      });
      const { page, errors } = await open();
      await page.goto(address);
      await dataset(page).getByText("LeRobot", { exact: true }).waitFor();
      await until(
        () => rows(page).count(),
        (count) => count === 3,
        "episodes",
      );
      // The videos of this dataset are not in the repository.
      await player(page).getByText("This browser cannot decode videos/", { exact: false }).first().waitFor();
      for (let i = errors.length - 1; i >= 0; i--) if (/404|videos\//.test(errors[i] as string)) errors.splice(i, 1);
    } finally {
      server.kill();
    }
  });
});
