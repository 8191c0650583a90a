/** Creates elements. Children are texts or nodes, never markup, so names and texts from files can be passed unchanged. */

type Listener = (event: never) => void;
type Child = Node | string | number | null | undefined | false;

/** Attributes by name: a listener as `onclick`, a flag as true or false, anything else as its text. */
export interface Attributes {
  readonly [name: string]: string | number | boolean | Listener | null | undefined;
}

/** @throws TypeError for `style`, which the page's policy forbids: use a class, or set `element.style` */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: readonly Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "style") throw new TypeError(`<${tag}>: the page's content security policy forbids the attribute style. Use a class`);
    if (typeof value === "function") element.addEventListener(name.slice(2), value as EventListener);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, String(value));
  }
  element.append(
    ...children.filter((child) => child !== null && child !== undefined && child !== false).map((child) => (child instanceof Node ? child : String(child))),
  );
  return element;
}

/** Returns a section with its own heading. */
export function section(title: string, ...children: readonly Child[]): HTMLElement {
  return h("section", { class: "panel", "aria-label": title }, h("h2", {}, title), ...children);
}
