/** Plays in the room Record, using only the information that the page shows. */
import type { Page } from "playwright-core";
import { Game } from "../../page/record/game.ts";
import { until } from "./support.ts";

export const press = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).click();
export const status = (page: Page) => page.locator(".record .status").innerText();

/** Returns a number that the room shows, or NaN if it has none yet. */
export async function figure(page: Page, name: string): Promise<number> {
  const text = await page.locator(".record .figures div", { hasText: name }).locator("dd").innerText();
  return Number(text.replace(/,/g, ""));
}

export interface Row {
  readonly id: number;
  readonly steps: number;
  readonly return: number;
  readonly ending: string;
  readonly used: boolean;
}

/** Returns the rows of the list, the newest episode first. */
export async function listed(page: Page): Promise<Row[]> {
  const rows = await page.locator(".record .list tbody tr").evaluateAll((all) =>
    all.map((row) => ({
      cells: [...row.children].map((cell) => cell.textContent ?? ""),
      used: (row.querySelector("input") as { checked: boolean } | null)?.checked ?? false,
    })),
  );
  return rows.map(({ cells: [id = "", steps = "", sum = "", ending = ""], used }) => ({
    id: Number(id),
    steps: Number(steps.replace(/,/g, "")),
    return: Number(sum),
    ending,
    used,
  }));
}

/**
 * Resolves as soon as the page watches for a status text with this ending, since the text is visible for only a second. Await it before the text can appear.
 * @returns a function that waits for the text
 */
export async function ending(page: Page, end: string): Promise<() => Promise<string>> {
  const watched = await page.locator(".record .status").evaluateHandle(
    (element, wanted) => ({
      text: new Promise<string>((resolve) => {
        const watcher = new MutationObserver(() => {
          const text = element.textContent ?? "";
          if (!text.endsWith(wanted)) return;
          watcher.disconnect();
          resolve(text);
        });
        watcher.observe(element, { childList: true, characterData: true, subtree: true });
      }),
    }),
    end,
  );
  return () => watched.evaluate(({ text }) => text);
}

/** Waits until the room has opened its store, so that the visitor can play. */
export async function opened(page: Page): Promise<void> {
  await until(() => page.locator(".record .play").isEnabled(), Boolean, "the store");
}

/** Waits until an episode can be steered. @param seed its number */
export async function waits(page: Page, seed: number): Promise<void> {
  await until(
    () => status(page),
    (text) => text.startsWith(`Episode ${seed}:`),
    `the beginning of episode ${seed}`,
  );
}

/** Begins an episode with Enter, holds a key until `count` steps are saved, and stops with Escape. Resolves when the episode is in the list. */
export async function steer(page: Page, key: string, seed: number, count = 1): Promise<void> {
  await page.getByRole("application").focus();
  await page.keyboard.press("Enter");
  await waits(page, seed);
  const before = await figure(page, "Steps saved");
  await page.keyboard.down(key);
  await until(
    () => figure(page, "Steps saved"),
    (steps) => steps >= before + count,
    "the steps",
  );
  await page.keyboard.up(key);
  await page.keyboard.press("Escape");
  await until(
    () => listed(page),
    ([newest]) => newest?.id === seed,
    `episode ${seed} in the list`,
  );
}

/** Returns the position of the ring in pixels of the window. */
export async function ringOf(page: Page, seed: number): Promise<[x: number, y: number]> {
  const { state } = new Game(seed);
  const box = await page.locator(".record .stage").boundingBox();
  if (box === null) throw new Error("there is no picture");
  return [box.x + box.width * (state[4] as number), box.y + box.height * (state[5] as number)];
}

/** Points at the ring until the episode has ended and is saved: the boat heads there, and sways until it rests. @returns the status text of the episode */
export async function pointed(page: Page, seed: number): Promise<string> {
  await waits(page, seed);
  await page.mouse.move(...(await ringOf(page, seed)));
  const text = await ending(page, `Saved as episode ${seed}.`);
  await page.mouse.down();
  try {
    return await text();
  } finally {
    await page.mouse.up();
  }
}

/** Returns the middle of the boat's deck in the picture, from 0 to 1, or NaN if there is none. */
export async function boat(page: Page): Promise<[x: number, y: number]> {
  return page.locator(".record .stage").evaluate((element) => {
    const canvas = element as HTMLCanvasElement;
    const { width, height } = canvas;
    // The browser warns about reading from a canvas that is drawn to, so this copies it.
    const copy = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true }) as OffscreenCanvasRenderingContext2D;
    copy.drawImage(canvas, 0, 0);
    const { data } = copy.getImageData(0, 0, width, height);
    let [x, y, count] = [0, 0, 0];
    for (let i = 0; i < data.length; i += 4) {
      if (data[i] !== 226 || data[i + 1] !== 84 || data[i + 2] !== 58) continue;
      x += (i / 4) % width;
      y += Math.floor(i / 4 / width);
      count++;
    }
    return [x / count / width, y / count / height] as [number, number];
  });
}
