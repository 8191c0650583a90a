/** Shows the open dataset: its name and format, how much of it was read, and a button to continue. */
import { h } from "../../parts/element.ts";
import { bytes, count, counted } from "../../parts/figures.ts";
import { Progress } from "../../parts/progress.ts";
import type { Opened } from "../messages.ts";
import type { EpisodeTable } from "../model/episode-table.ts";

export interface OverviewEvents {
  readAll(): void;
  stop(): void;
  split(name: string): void;
}

const FORMATS: { readonly [format in Opened["format"]]: string } = {
  tfds: "TFDS",
  minari: "Minari",
  d4rl: "D4RL",
  robomimic: "robomimic",
  maniskill: "ManiSkill",
  aloha: "ALOHA",
  d3rlpy: "d3rlpy",
  lerobot: "LeRobot",
  parquet: "Parquet",
  jsonl: "JSON lines",
  npz: "NPZ",
  zarr: "Zarr",
  mcap: "MCAP",
  csv: "CSV",
  tfrecord: "TFRecord of TF-Agents",
  journal: "Journal of Reprise",
  snapshot: "Snapshot of Reprise",
  recording: "Recording of Reprise",
};

/** The number of milliseconds between two progress texts, because a screen reader reads each text. */
const TEXT_MS = 1500;

export class Overview {
  readonly element: HTMLElement;
  readonly #opened: Opened;
  readonly #table: EpisodeTable;
  readonly #events: OverviewEvents;
  readonly #figures = h("dl", { class: "figures" });
  readonly #state = h("div", { class: "row reading" });
  #progress: Progress | undefined;
  #told = 0;

  constructor(opened: Opened, table: EpisodeTable, events: OverviewEvents) {
    this.#opened = opened;
    this.#table = table;
    this.#events = events;
    const { format, name, about } = opened;
    const rows = about.map(([key, text]) => h("div", {}, h("dt", {}, key), h("dd", {}, text)));
    this.element = h(
      "section",
      { class: "panel overview", "aria-label": "Dataset" },
      h("div", { class: "row" }, h("h2", { class: "dataset" }, name), h("span", { class: "badge" }, FORMATS[format] ?? format), this.#splits()),
      this.#figures,
      this.#state,
      rows.length > 0 && h("details", {}, h("summary", {}, "Metadata in the files"), h("dl", { class: "texts" }, ...rows)),
    );
    this.figures(0);
  }

  /** @param read the number of bytes read */
  figures(read: number): void {
    const { steps, bytes: size } = this.#opened;
    const table = this.#table;
    const known = steps ?? (table.read > 0 && table.read === table.count ? table.values("length").reduce((sum, length) => sum + length, 0) : undefined);
    const all: readonly (readonly [string, string])[] = [
      ["Episodes", count(table.count)],
      ["Steps", known === undefined ? "not counted yet" : count(known)],
      ["Leaves", count(this.#opened.leaves.length)],
      ["Size", size === undefined ? "not known" : bytes(size)],
      ["Bytes read", size === undefined || read >= size ? bytes(read) : `${bytes(read)} (${shareText(read / size)})`],
    ];
    this.#figures.replaceChildren(...all.map(([name, text]) => h("div", {}, h("dt", {}, name), h("dd", {}, text))));
    this.#advance(read);
  }

  reading(): void {
    this.#progress = new Progress("Reading", this.#events.stop);
    this.#state.replaceChildren(this.#progress.element);
  }

  /** @param complete whether every episode was read */
  rested(complete: boolean, why: "sample" | "stopped" | "failed" | "end"): void {
    this.#progress = undefined;
    const { read, count: all } = this.#table;
    const note = (text: string) => h("span", { class: "note", role: "status" }, text);
    if (complete) this.#state.replaceChildren(note("All episodes were read."));
    else if (why === "sample")
      this.#state.replaceChildren(note(`A sample of ${count(read)} of ${count(all)} episodes was read.`), this.#onward("Read everything"));
    else this.#state.replaceChildren(note(`Reading has stopped after ${counted(read, "episode")}.`), this.#onward("Continue reading"));
  }

  #onward(text: string): HTMLElement {
    return h("button", { type: "button", onclick: () => this.#events.readAll() }, text);
  }

  #advance(read: number): void {
    const { episodes, bytes: size } = this.#opened;
    const table = this.#table;
    const share = episodes === undefined ? size && read / size : table.read / Math.max(1, episodes);
    const now = performance.now();
    const text = `Reading: ${counted(table.read, "episode")}, ${bytes(read)}`;
    this.#progress?.set(share, now - this.#told > TEXT_MS ? text : undefined);
    if (now - this.#told > TEXT_MS) this.#told = now;
  }

  #splits(): HTMLElement | undefined {
    const { splits, split } = this.#opened;
    if (splits.length < 2) return undefined;
    const select = h("select", { "aria-label": "Split" }, ...splits.map((name) => h("option", { value: name, selected: name === split }, name)));
    if (split !== undefined && !splits.includes(split)) select.prepend(h("option", { value: split, selected: true }, split));
    select.addEventListener("change", () => this.#events.split(select.value));
    return select;
  }
}

function shareText(share: number): string {
  return `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
}
