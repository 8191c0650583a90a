/** Creates elements without markup, so that stored values can only become text. */

type Child = Node | string;

/** Creates an element with attributes and children; a string becomes text. */
export function make<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: { readonly [name: string]: string | undefined } = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (value !== undefined) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/** Sets the text of an element only if it differs, to avoid work for the page. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

export function button(text: string, onClick: () => void, attributes: { readonly [name: string]: string | undefined } = {}): HTMLButtonElement {
  const element = make("button", { type: "button", ...attributes }, text);
  element.addEventListener("click", onClick);
  return element;
}

/** Creates a table with a caption, a header row, and rows of texts or elements. */
export function tableOf(caption: string, head: readonly string[], rows: readonly (readonly Child[])[]): HTMLTableElement {
  const cells = (row: readonly Child[]) => row.map((cell) => make("td", {}, cell));
  return make(
    "table",
    {},
    make("caption", {}, caption),
    make("thead", {}, make("tr", {}, ...head.map((name) => make("th", { scope: "col" }, name)))),
    make("tbody", {}, ...rows.map((row) => make("tr", {}, ...cells(row)))),
  );
}

/** A list of names and descriptions, whose texts can change. */
export class DefinitionList {
  readonly root: HTMLDListElement = make("dl");
  readonly #values = new Map<string, HTMLElement>();

  set(name: string, text: string): void {
    let value = this.#values.get(name);
    if (value === undefined) {
      value = make("dd");
      this.#values.set(name, value);
      this.root.append(make("div", {}, make("dt", {}, name), value));
    }
    setText(value, text);
  }

  clear(): void {
    this.#values.clear();
    this.root.replaceChildren();
  }
}
