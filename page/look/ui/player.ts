/** Plays one episode: shows plots with a line at the step, films, videos, and every value of the step. */
import { h } from "../../parts/element.ts";
import { counted } from "../../parts/figures.ts";
import type { EpisodeData } from "../messages.ts";
import { videosOf } from "../model/leaf-kinds.ts";
import { Clock } from "./clock.ts";
import { films } from "./films.ts";
import { leafPlots } from "./leaf-plots.ts";
import { stepValues } from "./step-values.ts";
import { videos } from "./videos.ts";

/** A view of one step of the episode. */
export interface StepView {
  readonly element: HTMLElement;
  show(step: number, playing: boolean): void;
}

export interface PlayerEvents {
  flag(episode: number): void;
  isFlagged(episode: number): boolean;
  /** Returns the address of a file of the dataset; undefined if there is no such file. */
  addressOf(path: string, signal: AbortSignal): string | undefined;
}

export interface Player {
  readonly element: HTMLElement;
  /** Shows another episode, or a placeholder while it is read. @param fps steps per second, if the files state it */
  show(episode: EpisodeData | HTMLElement, step?: number, fps?: number): void;
  /** Shows a step of the current episode. */
  step(step: number): void;
  /** Updates the display. Call this method when a flag has changed. */
  flagged(): void;
  focus(): void;
}

export function player(events: PlayerEvents, signal: AbortSignal): Player {
  const title = h("h2", { tabindex: -1 }, "Episode");
  const flag = h("button", { type: "button", class: "flag-button", "aria-pressed": "false" }, "⚑ Flag");
  const body = h("div", { class: "player-body" }, h("p", { class: "note" }, "Choose an episode."));
  const element = h("section", { class: "panel player", "aria-label": "Episode" }, h("div", { class: "row head" }, title, flag), body);
  let shown = -1;
  let own = new AbortController();
  let step: (to: number) => void = () => {};
  const press = () => {
    const on = shown >= 0 && events.isFlagged(shown);
    flag.setAttribute("aria-pressed", String(on));
    flag.textContent = on ? "⚑ Flagged" : "⚐ Flag";
    flag.disabled = shown < 0;
  };
  flag.addEventListener("click", () => events.flag(shown));
  signal.addEventListener("abort", () => own.abort());
  press();
  return {
    element,
    show(episode, at = 0, fps) {
      own.abort();
      own = new AbortController();
      step = () => {};
      if (episode instanceof HTMLElement) {
        shown = -1;
        body.replaceChildren(episode);
      } else {
        shown = episode.index;
        const said = [`Episode ${episode.index}`, counted(episode.length, "step")];
        title.textContent = said.join(" · ");
        if (episode.length === 0) body.replaceChildren(h("p", { class: "note" }, "The episode has no steps."), metadata(episode));
        else step = fill(body, episode, { at, fps, events, signal: own.signal });
      }
      press();
    },
    step: (to) => step(to),
    flagged: press,
    focus: () => title.focus(),
  };
}

interface Filling {
  readonly at: number;
  readonly fps: number | undefined;
  readonly events: PlayerEvents;
  readonly signal: AbortSignal;
}

/** @returns a function that shows a step */
function fill(body: HTMLElement, episode: EpisodeData, { at, fps, events, signal }: Filling): (step: number) => void {
  const last = episode.length - 1;
  const slider = h("input", { type: "range", min: 0, max: last, step: 1, "aria-label": "Step" });
  const says = h("output", { class: "step" });
  const play = h("button", { type: "button", class: "primary play" }, "Play");
  const clock = new Clock(fps ?? rateOf(episode) ?? 10, signal);
  const speed = h("select", { "aria-label": "Speed" });
  speed.append(...[0.25, 0.5, 1, 2, 4].map((value) => h("option", { value, selected: value === 1 }, `${value} ×`)));
  speed.addEventListener("change", () => clock.setSpeed(Number(speed.value)));
  const go = (step: number) => clock.set(Math.min(last, Math.max(0, Math.round(step))));
  const views: StepView[] = [
    ...films(episode, signal),
    ...videos(
      videosOf(episode.columns),
      (path) => events.addressOf(path, signal),
      () => clock.speed,
      signal,
    ),
    leafPlots(episode, go, signal),
    stepValues(episode),
  ];
  const controls = h(
    "div",
    { class: "row controls" },
    play,
    h("button", { type: "button", "aria-label": "One step back", onclick: () => go(clock.step - 1) }, "‹"),
    h("button", { type: "button", "aria-label": "One step on", onclick: () => go(clock.step + 1) }, "›"),
    slider,
    says,
    speed,
  );
  slider.addEventListener("input", () => clock.set(Number(slider.value)));
  play.addEventListener("click", () => {
    if (clock.playing) clock.pause();
    // At the end of the episode, playing restarts.
    else clock.play(clock.step >= last ? 0 : clock.step, last);
  });
  clock.changed = (step, playing) => {
    slider.value = String(step);
    slider.setAttribute("aria-valuetext", `Step ${step} of ${last}`);
    says.textContent = `${step} / ${last}`;
    play.textContent = playing ? "Pause" : "Play";
    for (const view of views) view.show(step, playing);
  };
  const moving = views.slice(0, -2).map(({ element }) => element);
  const [plots, values] = views.slice(-2).map(({ element }) => element) as [HTMLElement, HTMLElement];
  body.replaceChildren(controls, ...(moving.length > 0 ? [h("div", { class: "films" }, ...moving)] : []), plots, values, metadata(episode));
  go(at);
  return go;
}

/** Returns the steps per second, from the timestamps of LeRobot's frames. */
function rateOf({ columns, length }: EpisodeData): number | undefined {
  const times = columns.find(({ path, size, dtype }) => path === "timestamp" && size === 1 && dtype.startsWith("f"))?.data as ArrayLike<number> | undefined;
  const span = length > 1 ? (times?.[length - 1] ?? 0) - (times?.[0] ?? 0) : 0;
  return span > 0 ? Math.min(240, (length - 1) / span) : undefined;
}

function metadata({ metadata: found }: EpisodeData): HTMLElement {
  if (found.length === 0) return h("div", { hidden: true });
  const rows = found.map(([name, text]) => h("div", {}, h("dt", {}, name), h("dd", {}, text)));
  return h("details", { open: found.length <= 6 }, h("summary", {}, "About this episode"), h("dl", { class: "texts" }, ...rows));
}
