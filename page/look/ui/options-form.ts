/** Shows the reading options of the next dataset: omitted, renamed or filled columns, and damaged files. */
import { h } from "../../parts/element.ts";
import { type ReadingOptions, readingOptions } from "../model/reading-options.ts";

export interface OptionsForm {
  readonly element: HTMLElement;
  /** @throws TypeError for an invalid field */
  read(): ReadingOptions;
  /** Sets whether there is an open dataset to reread. */
  setOpen(isOpen: boolean): void;
}

/** @param again rereads the same data with these options */
export function optionsForm(again: () => void, query: URLSearchParams): OptionsForm {
  const field = (name: "without" | "only" | "rename" | "null", label: string, example: string) => {
    const input = h("input", { type: "text", name, placeholder: example, autocomplete: "off" });
    input.value = query.getAll(name).join(" ");
    return { input, row: h("label", { class: "option" }, h("span", {}, label), input) };
  };
  const without = field("without", "Leave out", "observation/image, note");
  const only = field("only", "Keep only", "observation/state");
  const rename = field("rename", "Rename", "state=observation.state");
  const nulls = field("null", "Nulls", "x=0");
  const salvage = h("input", { type: "checkbox", name: "salvage" });
  salvage.checked = query.has("salvage");
  const button = h("button", { hidden: true }, "Read again");
  const form = h(
    "form",
    { class: "options" },
    ...[without, only, rename, nulls].map(({ row }) => row),
    h("label", { class: "check" }, salvage, "Salvage damaged or incomplete files: read their intact parts"),
    button,
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    again();
  });
  const texts = () => ({
    ...{ without: without.input.value, only: only.input.value, rename: rename.input.value, null: nulls.input.value },
    salvage: salvage.checked,
  });
  const details = h("details", { class: "reading-options" }, h("summary", {}, "Reading options"), form);
  details.open = ["without", "only", "rename", "null", "salvage"].some((name) => query.has(name));
  return {
    element: details,
    read: () => readingOptions(texts()),
    setOpen(isOpen) {
      button.hidden = !isOpen;
    },
  };
}
