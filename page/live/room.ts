/**
 * Shows the agent of `npm start`, which learns in a worker of this page, next to an inspector of its memory. The agent is drawn while it plays. The inspector
 * reports whether the agent is paused.
 */
import type { ReplayInspector } from "reprise/inspector";
import "reprise/inspector";
import { h, section } from "../parts/element.ts";
import { count } from "../parts/figures.ts";
import { segments } from "../parts/segments.ts";
import { trouble } from "../parts/trouble.ts";
import { Figures } from "./figures.ts";
import { LiveAgent } from "./live-agent.ts";
import type { Scene } from "./messages.ts";
import { Returns } from "./returns.ts";
import { screens } from "./screens.ts";
import { Stage } from "./stage.ts";

/** The number of steps per second in real time, because a step of CartPole-v1 takes 0.02 s. */
const REAL = 50;
const SPEEDS = [
  { value: REAL, text: "1×", label: "real time: 50 steps per second" },
  { value: 4 * REAL, text: "4×", label: "four times as fast" },
  { value: 16 * REAL, text: "16×", label: "sixteen times as fast" },
  { value: Infinity, text: "Full speed" },
];

export function room(host: HTMLElement, signal: AbortSignal, query: URLSearchParams): void {
  let seed = Math.max(0, Math.trunc(Number(query.get("seed") ?? 1)) || 0);
  let rate = 4 * REAL;
  let agent: LiveAgent | undefined;

  const stage = new Stage(signal);
  const place = h("span", {}, "…");
  const verdict = h("span", { class: "solved", role: "status" });
  const figures = new Figures();
  const returns = new Returns(signal);
  const alerts = h("div", {});

  const inspector = document.createElement("replay-inspector") as ReplayInspector;
  const toggle = () => (inspector.paused ? inspector.resume() : inspector.pause());
  const play = h("button", { type: "button", class: "primary play", onclick: toggle }, "Pause");
  const step = h("button", { type: "button", onclick: () => inspector.step() }, "Step");
  const again = h("button", { type: "button", onclick: anew }, "Start again");
  const speed = segments("Speed", SPEEDS, rate, (chosen) => {
    rate = chosen;
    agent?.pace(rate);
    inspector.resume();
  });
  const tell = () => {
    play.textContent = inspector.paused ? "Play" : "Pause";
  };
  for (const event of ["pause", "resume"]) inspector.addEventListener(event, tell, { signal });

  /** Restarts with the next seed. */
  function anew(): void {
    seed++;
    begin();
  }

  function show(scene: Scene): void {
    stage.draw(scene);
    place.textContent = `Episode ${count(scene.episode)}, step ${scene.length}`;
    returns.add(scene);
    figures.show(scene, returns);
    if (verdict.textContent === "" && returns.solvedAt !== undefined) verdict.textContent = `Solved at step ${count(returns.solvedAt)}`;
  }

  function begin(): void {
    agent?.end();
    alerts.replaceChildren();
    verdict.textContent = "";
    returns.clear();
    figures.clear();
    agent = new LiveAgent(seed, show, (error) => alerts.replaceChildren(trouble(error)));
    agent.pace(rate);
    inspector.port = agent.inspect;
    tell();
  }

  host.append(
    h("h1", {}, "An agent learns to balance a pole"),
    h(
      "p",
      { class: "lead" },
      "The program of ",
      h("code", {}, "npm start"),
      " in a worker of this page: its steps go into its memory, and it learns from the steps that it draws.",
    ),
    alerts,
    h(
      "div",
      { class: "columns" },
      h(
        "div",
        { class: "column" },
        h(
          "section",
          { class: "panel", "aria-label": "CartPole-v1" },
          h("div", { class: "heading" }, h("h2", {}, "CartPole-v1"), h("p", {}, verdict, place)),
          stage.element,
          h("div", { class: "row" }, play, step, speed, again),
        ),
        section("Returns", returns.element, figures.element),
      ),
      inspector,
    ),
    screens(signal, (error) => alerts.replaceChildren(trouble(error))),
  );
  begin();
  addEventListener(
    "keydown",
    (event) => {
      // A focused button handles the key itself.
      if (event.target !== document.body && event.target !== document.querySelector("main")) return;
      if (event.key === " ") toggle();
      else if (event.key === ".") inspector.step();
      else return;
      event.preventDefault();
    },
    { signal },
  );
  signal.addEventListener("abort", () => agent?.end());
}
