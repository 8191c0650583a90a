/** Implements the page's shell: opens rooms, and moves the focus. */
import { h } from "./parts/element.ts";
import { trouble } from "./parts/trouble.ts";

/** Fills the host, and releases everything when the signal aborts. @param query the part after `?` in the hash */
export type Room = (host: HTMLElement, signal: AbortSignal, query: URLSearchParams) => void | Promise<void>;

interface Entry {
  readonly name: string;
  readonly title: string;
  readonly load: () => Promise<{ readonly room: Room }>;
}

/** The rooms in the order of the navigation. The first room opens if the address names no room. */
const ROOMS: readonly Entry[] = [
  { name: "live", title: "Live", load: () => import("./live/room.ts") },
  { name: "look", title: "Look", load: () => import("./look/room.ts") },
  { name: "record", title: "Record", load: () => import("./record/room.ts") },
];

const place = document.querySelector<HTMLElement>("#room") as HTMLElement;
const links = ROOMS.map(({ name, title }) => h("a", { href: `#${name}` }, title));
(document.querySelector("#rooms") as HTMLElement).append(...links);

let open = new AbortController();

async function enter(): Promise<void> {
  const [name, query] = location.hash.slice(1).split(/\?(.*)/s, 2);
  const entry = ROOMS.find((room) => room.name === name) ?? (ROOMS[0] as Entry);
  open.abort();
  open = new AbortController();
  const { signal } = open;
  document.title = `${entry.title} · Reprise`;
  for (const [i, link] of links.entries()) {
    if (ROOMS[i] === entry) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const host = h("div", { class: `room ${entry.name}` });
  place.replaceChildren(host);
  try {
    const { room } = await entry.load();
    if (!signal.aborted) await room(host, signal, new URLSearchParams(query ?? ""));
  } catch (error) {
    if (!signal.aborted) host.prepend(trouble(error));
  }
}

// The skip link moves the focus to the open room without changing the address.
(document.querySelector(".skip") as HTMLElement).addEventListener("click", (event) => {
  event.preventDefault();
  place.focus();
});
addEventListener("hashchange", () => {
  // Moves the focus, so that keyboard users continue in the new room.
  place.focus({ preventScroll: true });
  scrollTo(0, 0);
  void enter();
});
void enter();
