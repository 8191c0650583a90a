/** What is wrong with the data, each place a link to its episode and step. */
import { h, section } from "../../parts/element.ts";
import { count, counted } from "../../parts/figures.ts";
import type { Found } from "../messages.ts";
import { type FindingGroup, type FoundPlace, SENTENCES } from "../model/findings.ts";

/** Places that are there at once. */
const PLACES = 8;

export interface FindingsView {
  readonly element: HTMLElement;
  /** @param read episodes so far, of so many */
  set(found: Found, read: number, of: number): void;
}

/** @param go leads to an episode and a step of it @param flagFaulty flags all episodes with faults */
export function findingsView(go: (place: FoundPlace) => void, flagFaulty: () => void): FindingsView {
  const note = h("p", { class: "note", role: "status" });
  const groups = h("div", { class: "findings" });
  const flag = h("button", { type: "button", hidden: true, onclick: flagFaulty }, "Flag all episodes with findings");
  let shown = "";
  return {
    element: section("Findings", note, groups, flag),
    set({ groups: found, faultyEpisodes }, read, of) {
      const where = `${counted(read, "episode")}${read < of ? ` of ${count(of)}` : ""}`;
      note.textContent = found.length === 0 ? `No problems found in ${where}.` : `${count(faultyEpisodes)} with faults in ${where}.`;
      flag.hidden = faultyEpisodes === 0;
      const now = JSON.stringify(found);
      // What is the same stays: a person may be on one of its links.
      if (now === shown) return;
      shown = now;
      groups.replaceChildren(...found.map((group) => groupOf(group, go)));
    },
  };
}

function groupOf({ kind, count: times, places }: FindingGroup, go: (place: FoundPlace) => void): HTMLElement {
  const list = h("ul", {});
  const add = (some: readonly FoundPlace[]) => list.append(...some.map((place) => h("li", {}, linkOf(place, go))));
  add(places.slice(0, PLACES));
  const rest = places.slice(PLACES);
  const more = h("button", { type: "button", class: "more", hidden: rest.length === 0 }, `Show ${count(rest.length)} more`);
  more.addEventListener("click", () => {
    more.remove();
    add(rest);
  });
  return h("div", { class: "finding" }, h("h3", {}, SENTENCES[kind], " ", h("small", {}, count(times))), list, more);
}

function linkOf(place: FoundPlace, go: (place: FoundPlace) => void): HTMLElement {
  const { episode, step, path, value } = place;
  const where = step === undefined ? `Episode ${episode}` : `Episode ${episode}, step ${step}`;
  const what = [path, value].filter((part) => part !== undefined).join(": ");
  return h("span", {}, h("button", { type: "button", class: "link", onclick: () => go(place) }, where), what === "" ? "" : ` ${what}`);
}
