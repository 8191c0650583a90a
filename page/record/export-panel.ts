/** Saves the used episodes as a dataset: to a folder if the browser can write to folders, otherwise as a zip. */
import { h } from "../parts/element.ts";
import { count } from "../parts/figures.ts";
import { filmsHere } from "../parts/film.ts";
import { Progress } from "../parts/progress.ts";
import { type Destination, download, pickFolder, picksFolders, zipOf } from "../parts/save-folder.ts";
import { trouble } from "../parts/trouble.ts";
import type { Episode } from "./demonstrations.ts";
import { FORMATS, type Format, NAME } from "./formats.ts";
import type { Questions } from "./messages.ts";

export interface ExportWishes {
  save(format: Format, to: Destination): Promise<ReturnType<Questions["export"]>>;
  stop(): void;
}

export class ExportPanel {
  readonly element: HTMLElement;
  readonly #wishes: ExportWishes;
  readonly #format = h(
    "select",
    { "aria-label": "Format" },
    ...Object.entries(FORMATS)
      .filter(([value]) => value !== "lerobot" || filmsHere())
      .map(([value, { title }]) => h("option", { value }, title)),
  );
  readonly #buttons: HTMLButtonElement[];
  readonly #place = h("div", {});
  #progress: Progress | undefined;
  #usable = false;

  constructor(wishes: ExportWishes) {
    this.#wishes = wishes;
    const zip = h("button", { type: "button", onclick: () => this.#save(new Map()) }, "Download as a zip");
    const folder = h("button", { type: "button", onclick: () => this.#toFolder() }, "Save to a folder …");
    this.#buttons = picksFolders() ? [folder, zip] : [zip];
    const what = h("p", { class: "note" });
    const describe = () => (what.textContent = FORMATS[this.#format.value as Format].opens);
    this.#format.addEventListener("change", describe);
    describe();
    this.element = h("div", { class: "export" }, h("div", { class: "row" }, this.#format, ...this.#buttons), what, this.#place);
    this.set([]);
  }

  set(episodes: readonly Episode[]): void {
    this.#usable = episodes.some(({ used }) => used);
    this.#enable();
  }

  exporting({ episodes, of }: { readonly episodes: number; readonly of: number }): void {
    this.#progress?.set(episodes / of, `Episode ${count(episodes)} of ${count(of)}`);
  }

  async #toFolder(): Promise<void> {
    try {
      const picked = await pickFolder();
      if (picked === undefined) return;
      // The dataset is saved in a separate folder, so that nothing else in the picked folder is replaced.
      await this.#save(await picked.getDirectoryHandle(this.#folder, { create: true }), picked.name);
    } catch (error) {
      this.#place.replaceChildren(trouble(error));
    }
  }

  /** The name of the zip and the folder. */
  get #folder(): string {
    return `${NAME}-${this.#format.value}`;
  }

  /** @param inside the name of the folder that was picked */
  async #save(to: Destination, inside = ""): Promise<void> {
    const [format, folder] = [this.#format.value as Format, this.#folder];
    const progress = new Progress("Writing the dataset", () => this.#wishes.stop());
    this.#progress = progress;
    this.#enable();
    this.#place.replaceChildren(progress.element);
    try {
      const { episodes, files } = await this.#wishes.save(format, to);
      if (files !== undefined) download(`${folder}.zip`, zipOf(files, folder));
      const where = files === undefined ? `the folder ${inside}/${folder}` : `${folder}.zip`;
      const done = `${count(episodes)} ${episodes === 1 ? "episode" : "episodes"} ${episodes === 1 ? "is" : "are"} in ${where}.`;
      this.#place.replaceChildren(h("p", { class: "result", role: "status" }, done));
    } catch (error) {
      const { code, message } = error as { code?: string; message: string };
      const stopped = code === "ABORTED" || /abort/i.test(message);
      this.#place.replaceChildren(stopped ? h("p", { class: "result", role: "status" }, "Stopped: nothing was saved.") : trouble(error));
    } finally {
      this.#progress = undefined;
      this.#enable();
    }
  }

  #enable(): void {
    for (const button of this.#buttons) button.disabled = !this.#usable || this.#progress !== undefined;
  }
}
