/** The agent of `npm start`, learning in a worker of this page. */
import { h } from "../parts/element.ts";

export function room(host: HTMLElement): void {
  host.append(h("h1", {}, "An agent learns to balance a pole"));
}
