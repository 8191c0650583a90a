/** Handles the input of data that is dropped, chosen, or named by an address. */
import { h } from "../../parts/element.ts";
import type { GivenFile } from "../messages.ts";
import { chosenFiles } from "../model/given.ts";
import { droppedFiles } from "./dropped.ts";

export interface ChooserEvents {
  files(files: readonly GivenFile[]): void;
  url(address: string): void;
  example(): void;
  trouble(error: unknown): void;
}

export interface Chooser {
  readonly element: HTMLElement;
  /** Makes the chooser smaller once a dataset is open. */
  compact(): void;
}

/** @param host the element that accepts drops @param options how the data is read */
export function chooser(host: HTMLElement, events: ChooserEvents, options: HTMLElement, signal: AbortSignal): Chooser {
  const picker = (label: string, folder: boolean) => {
    const input = h("input", { type: "file", multiple: true, webkitdirectory: folder });
    input.addEventListener("change", () => {
      if (input.files !== null && input.files.length > 0) events.files(chosenFiles(input.files));
      // This allows the same files to be chosen again.
      input.value = "";
    });
    return h("label", { class: "button picker" }, label, input);
  };
  const address = h("input", {
    type: "url",
    name: "from",
    required: true,
    placeholder: "https://…",
    "aria-label": "Address of a dataset",
    autocomplete: "off",
  });
  const form = h("form", { class: "row address" }, address, h("button", {}, "Open"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    events.url(address.value);
  });
  const element = h(
    "section",
    { class: "panel chooser", "aria-label": "Open a dataset" },
    h("p", { class: "drop-here" }, "Drop a file or a folder here"),
    h(
      "div",
      { class: "row" },
      picker("Choose files", false),
      picker("Choose a folder", true),
      h("button", { type: "button", class: "example", onclick: () => events.example() }, "Look at an example"),
    ),
    form,
    options,
    h(
      "p",
      { class: "note formats" },
      "TFDS · Minari · D4RL · LeRobot · Parquet · JSON lines · CSV · NPZ · Zarr · a journal, a snapshot or a recording of Reprise",
    ),
  );
  dropping(host, events, signal);
  return { element, compact: () => element.classList.add("compact") };
}

function dropping(host: HTMLElement, events: ChooserEvents, signal: AbortSignal): void {
  const isFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files") === true;
  const over = (event: DragEvent) => {
    if (!isFiles(event)) return;
    event.preventDefault();
    host.classList.add("dropping");
  };
  host.addEventListener("dragenter", over, { signal });
  host.addEventListener("dragover", over, { signal });
  host.addEventListener("dragleave", (event) => !host.contains(event.relatedTarget as Node | null) && host.classList.remove("dropping"), { signal });
  host.addEventListener(
    "drop",
    (event) => {
      if (!isFiles(event) || event.dataTransfer === null) return;
      event.preventDefault();
      host.classList.remove("dropping");
      droppedFiles(event.dataTransfer).then(events.files, events.trouble);
    },
    { signal },
  );
}
