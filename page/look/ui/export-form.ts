/** Exports the unflagged episodes: into a folder if the browser can write to a folder, otherwise as a zip. */
import { h, section } from "../../parts/element.ts";
import { bytes, count, counted } from "../../parts/figures.ts";
import { filmsHere } from "../../parts/film.ts";
import { Progress } from "../../parts/progress.ts";
import { download, fileName, pickFolder, picksFolders } from "../../parts/save-folder.ts";
import { trouble } from "../../parts/trouble.ts";
import { EXPORTS, type ExportFormat, type ExportNews, type ExportResult, type Opened } from "../messages.ts";
import type { EpisodeTable } from "../model/episode-table.ts";
import { flagsFile } from "../model/flags-file.ts";
import { offer } from "../private-disk.ts";

export interface ExportAsked {
  readonly format: ExportFormat;
  readonly name: string;
  readonly fps: number;
  readonly films: boolean;
  readonly folder?: FileSystemDirectoryHandle;
  readonly signal: AbortSignal;
  readonly onNews: (news: ExportNews) => void;
}

const NAMES: { readonly [format in ExportFormat]: string } = {
  tfds: "TFDS (RLDS)",
  parquet: "Parquet",
  lerobot: "LeRobot v3.0",
  jsonl: "JSON lines",
};

export interface ExportForm {
  readonly element: HTMLElement;
  /** Updates the form. Call this method when flags have changed. */
  changed(): void;
}

/** @param run exports the episodes. The form shows the errors */
export function exportForm(
  { name, fps: recorded, filmable }: Pick<Opened, "name" | "fps" | "filmable">,
  table: EpisodeTable,
  run: (asked: ExportAsked) => Promise<ExportResult>,
  signal: AbortSignal,
): ExportForm {
  const says = h("p", { class: "note" });
  const format = h("select", { "aria-label": "Format" }, ...EXPORTS.map((one) => h("option", { value: one }, NAMES[one])));
  const fps = h("input", { type: "number", min: 0.001, step: "any", value: recorded ?? 10, required: true });
  const films = h("input", { type: "checkbox", checked: filmsHere(), disabled: !filmsHere() });
  const ofLeRobot = h(
    "div",
    { class: "row", hidden: true },
    h("label", {}, "Frames per second ", fps),
    filmable && h("label", {}, films, " Images as mp4, if this browser can encode them"),
  );
  format.addEventListener("change", () => {
    ofLeRobot.hidden = format.value !== "lerobot";
  });
  const result = h("div", { class: "result" });
  const toFolder = !picksFolders() ? undefined : h("button", { type: "button", class: "primary" }, "Export to a folder");
  const toZip = h("button", { type: "button", class: toFolder === undefined ? "primary" : "" }, "Export as a zip");
  const buttons = toFolder === undefined ? [toZip] : [toFolder, toZip];
  const toFlags = h("button", { type: "button", title: "For npx reprise edit --flags" }, "Save the flags");
  toFlags.addEventListener("click", () => download(`${fileName(name)}.flags.json`, new Blob([flagsFile(name, table)], { type: "application/json" })));
  const changed = () => {
    const { flagged, count: all } = table;
    toFlags.disabled = flagged === 0;
    says.textContent =
      flagged === 0
        ? "All episodes are exported. Flag those that you want to leave out."
        : `${count(flagged)} flagged ${flagged === 1 ? "episode is" : "episodes are"} left out, ${count(all - flagged)} exported.`;
  };
  /** Withdraws the last exported zip. */
  let takeBack = () => {};
  signal.addEventListener("abort", () => takeBack());
  const start = async (folder?: FileSystemDirectoryHandle) => {
    takeBack();
    takeBack = () => {};
    const own = new AbortController();
    const stop = () => own.abort(new Error("the export was stopped"));
    signal.addEventListener("abort", stop, { once: true });
    const progress = new Progress("Exporting", stop);
    result.replaceChildren(progress.element);
    for (const button of buttons) button.disabled = true;
    const kept = table.count - table.flagged;
    const onNews = ({ episodes, bytes: written, zipped }: ExportNews) =>
      progress.set(
        zipped === undefined ? episodes / Math.max(1, kept) : zipped / Math.max(1, written),
        zipped === undefined ? "Writing the files" : "Making the zip",
      );
    try {
      const asked = { format: format.value as ExportFormat, name, fps: fps.valueAsNumber, films: filmable && films.checked };
      const done = await run({ ...asked, folder, signal: own.signal, onNews });
      if (done.onDisk !== undefined) takeBack = offer(done.onDisk);
      if (signal.aborted) takeBack();
      if (!signal.aborted) result.replaceChildren(done.zip === undefined ? written(done, folder?.name) : saved(done, done.zip, name));
    } catch (error) {
      if (!signal.aborted) result.replaceChildren(own.signal.aborted ? h("p", { class: "note", role: "status" }, "The export was stopped.") : trouble(error));
    } finally {
      signal.removeEventListener("abort", stop);
      for (const button of buttons) button.disabled = false;
    }
  };
  toZip.addEventListener("click", () => void start());
  toFolder?.addEventListener("click", async () => {
    try {
      const folder = await pickFolder();
      if (folder !== undefined) await start(folder);
    } catch (error) {
      result.replaceChildren(trouble(error));
    }
  });
  changed();
  return { element: section("Export", says, h("div", { class: "row" }, format, ...buttons, toFlags), ofLeRobot, result), changed };
}

const told = ({ episodes, steps, bytes: size }: ExportResult) => `${counted(episodes, "episode")} with ${counted(steps, "step")}, ${bytes(size)}`;

function written(done: ExportResult, folder = "the folder"): HTMLElement {
  return h("p", { role: "status" }, `${told(done)}: ${counted(done.files.length, "file")} ${done.files.length === 1 ? "was" : "were"} written to ${folder}.`);
}

/** Starts the download, and returns a message with a button that repeats the download. */
function saved(done: ExportResult, zip: Blob, name: string): HTMLElement {
  const file = `${fileName(name)}.zip`;
  download(file, zip);
  return h(
    "p",
    { role: "status" },
    `${told(done)}. `,
    h("button", { type: "button", class: "link", onclick: () => download(file, zip) }, `Save ${file} again`),
  );
}
