/** Contains functions that the tests of the room Look share. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import type { Page } from "playwright-core";
import { root } from "../support/core.ts";
import { fileServer } from "../support/file-server.ts";

/** Returns a path below test/data. */
export const data = (path: string) => join(root, "test/data", path);

export const rows = (page: Page) => page.getByRole("listbox", { name: "Episodes" }).getByRole("option");
export const player = (page: Page) => page.getByRole("region", { name: "Episode", exact: true });
export const dataset = (page: Page) => page.getByRole("region", { name: "Dataset", exact: true });
export const whole = (page: Page) => dataset(page).getByText("All episodes were read.").waitFor();

/** Serves test/data to other origins, with range requests. */
export const dataServer = () =>
  fileServer(data(""), true, ({ method }, response) => {
    response.setHeader("Access-Control-Allow-Origin", "*");
    response.setHeader("Access-Control-Allow-Headers", "range");
    response.setHeader("Access-Control-Expose-Headers", "content-range");
    if (method === "OPTIONS") response.writeHead(204).end();
    return method === "OPTIONS";
  });

/** Chooses a file or folder with the buttons of the room. */
export async function choose(page: Page, path: string): Promise<void> {
  if (!statSync(path).isDirectory()) return page.getByLabel("Choose files").setInputFiles(path);
  const folder = page.getByLabel("Choose a folder");
  if (page.context().browser()?.browserType().name() === "chromium") return folder.setInputFiles(path);
  // Firefox accepts no folder from automation, so this replaces the result of its dialog.
  const names = readdirSync(path, { recursive: true, encoding: "utf8" }).filter((name) => statSync(join(path, name)).isFile());
  const files = names.map((name) => ({ path: `${basename(path)}/${name}`, text: readFileSync(join(path, name)).toString("base64") }));
  await folder.evaluate((input: HTMLInputElement, all) => {
    const made = new DataTransfer();
    for (const { path: named, text } of all) {
      const file = new File([Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))], named.split("/").at(-1) as string);
      Object.defineProperty(file, "webkitRelativePath", { value: named });
      made.items.add(file);
    }
    Object.defineProperty(input, "files", { value: made.files, configurable: true });
    input.dispatchEvent(new Event("change", { bubbles: true }));
  }, files);
}
