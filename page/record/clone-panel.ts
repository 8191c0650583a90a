/** Implements the panel of the clone, which trains on the used episodes, shows its success rate, and plays. */
import { h } from "../parts/element.ts";
import { count, figure } from "../parts/figures.ts";
import { plot } from "../parts/plot.ts";
import { Progress } from "../parts/progress.ts";
import { trouble } from "../parts/trouble.ts";
import type { Episode } from "./demonstrations.ts";
import type { Trial } from "./messages.ts";

/** The number of updates per training, which takes some seconds. */
const UPDATES = 800;

export interface CloneWishes {
  train(updates: number): Promise<Trial | undefined>;
  stop(): void;
  play(): void;
}

export class ClonePanel {
  readonly element: HTMLElement;
  readonly #wishes: CloneWishes;
  readonly #train = h("button", { type: "button", class: "primary", disabled: true, onclick: () => this.#learn() }, "Train a clone");
  readonly #play = h("button", { type: "button", disabled: true, onclick: () => this.#wishes.play() }, "Let the clone play");
  readonly #from = h("p", { class: "note" });
  readonly #result = h("p", { class: "result", role: "status" });
  readonly #place = h("div", {});
  readonly #curve;
  #progress: Progress | undefined;
  #points: [updates: number[], errors: number[]] = [[], []];
  #usable = false;

  constructor(signal: AbortSignal, wishes: CloneWishes) {
    this.#wishes = wishes;
    this.#curve = plot(
      {
        label: "The clone's error over its updates",
        x: "updates",
        height: 130,
        lines: [{ label: "mean squared difference to the recorded actions", width: 2 }],
      },
      signal,
    );
    this.#curve.element.hidden = true;
    this.element = h(
      "div",
      { class: "clone" },
      this.#from,
      h("div", { class: "row" }, this.#train, this.#play),
      this.#place,
      this.#curve.element,
      this.#result,
    );
    this.set([]);
  }

  set(episodes: readonly Episode[]): void {
    const used = episodes.filter((episode) => episode.used);
    const steps = used.reduce((sum, episode) => sum + episode.steps, 0);
    this.#usable = used.length > 0;
    this.#from.textContent = this.#usable
      ? `Learns from ${count(used.length)} of ${count(episodes.length)} episodes, ${count(steps)} steps. Tick the episodes that it should learn from.`
      : "Learns to steer by behaviour cloning, from the episodes that docked and any others that you tick. Ten are a good start.";
    this.#train.disabled = !this.#usable || this.#progress !== undefined;
  }

  learning({ done, of, error }: { readonly done: number; readonly of: number; readonly error: number }): void {
    this.#progress?.set(done / of, done < of ? "Learning" : "Playing 20 games to see how well it does");
    const [updates, errors] = this.#points;
    updates.push(done);
    errors.push(error);
    this.#curve.set([updates, errors]);
  }

  async #learn(): Promise<void> {
    const progress = new Progress("Learning", () => this.#wishes.stop());
    this.#progress = progress;
    this.#points = [[], []];
    this.#result.textContent = "";
    this.#train.disabled = true;
    this.#curve.element.hidden = false;
    this.#place.replaceChildren(progress.element);
    try {
      const trial = await this.#wishes.train(UPDATES);
      this.#place.replaceChildren();
      if (trial === undefined) return;
      const error = this.#points[1].at(-1) ?? 0;
      this.#result.textContent = `The clone docked in ${trial.docked} of ${trial.games} games it has never seen. Its error is ${figure(error)}.`;
      this.#play.disabled = false;
    } catch (error) {
      this.#place.replaceChildren(trouble(error));
    } finally {
      this.#progress = undefined;
      this.#train.disabled = !this.#usable;
    }
  }
}
