/** Shows the faults of the data. Each place is a link to its episode and step. */
import { h, section } from "../../parts/element.ts";
import { count, counted } from "../../parts/figures.ts";
import type { Found } from "../messages.ts";
import { type FindingGroup, type FoundPlace, SENTENCES } from "../model/findings.ts";

/** The number of places shown initially per kind of fault, and below, the maximum number of unreadable parts that are listed. */
const PLACES = 8;
const LOSSES = 20;

export interface FindingsView {
  readonly element: HTMLElement;
  /** @param read the number of episodes read so far @param of the total number of episodes */
  set(found: Found, read: number, of: number): void;
}

/** @param go opens an episode at a step @param flagFaulty flags all episodes with faults */
export function findingsView(go: (place: FoundPlace) => void, flagFaulty: () => void): FindingsView {
  const note = h("p", { class: "note", role: "status" });
  const groups = h("div", { class: "findings" });
  const flag = h("button", { type: "button", hidden: true, onclick: flagFaulty }, "Flag all episodes with findings");
  let shown = "";
  return {
    element: section("Findings", note, groups, flag),
    set({ groups: found, faultyEpisodes, losses }, read, of) {
      const [all, rest] = [counted(read, "episode"), read < of ? `; ${count(of - read)} not read yet` : ""];
      const faulty = `${count(faultyEpisodes)} of ${all} ${faultyEpisodes === 1 ? "has" : "have"} faults`;
      note.textContent = `${found.length === 0 ? `No faults in ${all}` : faulty}${rest}.`;
      flag.hidden = faultyEpisodes === 0;
      const now = JSON.stringify([found, losses]);
      // Unchanged content is not replaced, because a link in it may have the focus.
      if (now === shown) return;
      shown = now;
      groups.replaceChildren(...(losses.length === 0 ? [] : [lossesOf(losses)]), ...found.map((group) => groupOf(group, go)));
    },
  };
}

/** Lists the unread parts of damaged files. */
function lossesOf(losses: readonly string[]): HTMLElement {
  const list = h("ul", {}, ...losses.slice(0, LOSSES).map((reason) => h("li", {}, reason)));
  if (losses.length > LOSSES) list.append(h("li", {}, `and ${count(losses.length - LOSSES)} more`));
  return h("div", { class: "finding losses" }, h("h3", {}, "Not read ", h("small", {}, count(losses.length))), list);
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
