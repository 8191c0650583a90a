/** Draws the cart and its pole on a canvas. */
import { h } from "../parts/element.ts";
import type { Scene } from "./messages.ts";

/** The limits of an episode, and the pole's length, in m and radians. */
const [EDGE, FALL, POLE] = [2.4, (12 * Math.PI) / 180, 1];
/** The maximum number of steps of an episode, which is reached if the pole does not fall. */
const LONGEST = 500;
/** The width in m, including some space beyond the edges, the height, and the height of the ground. */
const [WIDTH, HEIGHT, GROUND] = [5.6, 1.9, 0.34];

export class Stage {
  readonly element = h("canvas", { class: "stage", role: "img", "aria-label": "A cart on a track, and a pole that stands on it" });
  readonly #context = this.element.getContext("2d") as CanvasRenderingContext2D;
  #colours: Record<"ink" | "line" | "accent" | "warm" | "dim", string> | undefined;
  #scene: Scene | undefined;

  constructor(signal: AbortSignal) {
    const sizes = new ResizeObserver(() => this.#fit());
    sizes.observe(this.element);
    signal.addEventListener("abort", () => sizes.disconnect());
    matchMedia("(prefers-color-scheme: dark)").addEventListener(
      "change",
      () => {
        this.#colours = undefined;
        this.draw(this.#scene);
      },
      { signal },
    );
  }

  draw(scene: Scene | undefined): void {
    this.#scene = scene;
    const { width, height } = this.element;
    const context = this.#context;
    this.#colours ??= this.#read();
    const colours = this.#colours;
    const unit = width / WIDTH;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, width, height);
    // The unit is m, y points upwards, and the origin is the middle of the track.
    context.setTransform(unit, 0, 0, -unit, width / 2, height - GROUND * unit);
    this.#track(colours);
    if (scene === undefined) return;
    this.#standing(scene.length, colours.accent);
    const [x = 0, , angle = 0] = scene.state;
    context.translate(x, 0);
    this.#limits(colours.dim);
    this.#push(scene.action, colours.warm);
    this.#cart(colours.ink);
    this.#pole(angle, colours.accent, colours.warm);
  }

  #track({ line, dim }: { line: string; dim: string }): void {
    const context = this.#context;
    context.strokeStyle = line;
    context.lineWidth = 0.03;
    stroke(context, [-EDGE - 0.25, 0], [EDGE + 0.25, 0]);
    context.strokeStyle = dim;
    for (const edge of [-EDGE, EDGE]) stroke(context, [edge, -0.09], [edge, 0.09]);
  }

  /** Draws a bar along the bottom that shows how much of the longest possible episode is completed. */
  #standing(length: number, colour: string): void {
    const context = this.#context;
    context.fillStyle = colour;
    context.fillRect(-WIDTH / 2, -GROUND, (WIDTH * length) / LONGEST, 0.04);
  }

  /** Draws the angles at which the pole counts as fallen. */
  #limits(colour: string): void {
    const context = this.#context;
    context.strokeStyle = colour;
    context.globalAlpha = 0.45;
    context.lineWidth = 0.012;
    context.setLineDash([0.04, 0.05]);
    for (const side of [-FALL, FALL]) stroke(context, [0, 0.22], [Math.sin(side) * (POLE + 0.1), 0.22 + Math.cos(side) * (POLE + 0.1)]);
    context.setLineDash([]);
    context.globalAlpha = 1;
  }

  #push(action: number | undefined, colour: string): void {
    if (action === undefined) return;
    const context = this.#context;
    const side = action === 1 ? 1 : -1;
    context.fillStyle = colour;
    context.beginPath();
    context.moveTo(side * 0.5, 0.13);
    context.lineTo(side * 0.36, 0.2);
    context.lineTo(side * 0.36, 0.06);
    context.fill();
  }

  #cart(colour: string): void {
    const context = this.#context;
    context.fillStyle = colour;
    context.beginPath();
    context.roundRect(-0.29, 0.05, 0.58, 0.18, 0.035);
    context.fill();
    for (const wheel of [-0.17, 0.17]) {
      context.beginPath();
      context.arc(wheel, 0.045, 0.055, 0, 2 * Math.PI);
      context.fill();
    }
  }

  #pole(angle: number, colour: string, hinge: string): void {
    const context = this.#context;
    context.strokeStyle = colour;
    context.lineWidth = 0.075;
    context.lineCap = "round";
    stroke(context, [0, 0.22], [Math.sin(angle) * POLE, 0.22 + Math.cos(angle) * POLE]);
    context.fillStyle = hinge;
    context.beginPath();
    context.arc(0, 0.22, 0.035, 0, 2 * Math.PI);
    context.fill();
  }

  #fit(): void {
    const { element } = this;
    element.width = Math.round(element.clientWidth * devicePixelRatio);
    element.height = Math.round((element.width * HEIGHT) / WIDTH);
    this.draw(this.#scene);
  }

  #read() {
    const style = getComputedStyle(this.element);
    const of = (name: string) => style.getPropertyValue(`--${name}`).trim();
    return { ink: of("ink"), line: of("line"), accent: of("accent"), warm: of("warm"), dim: of("dim") };
  }
}

function stroke(context: CanvasRenderingContext2D, from: readonly [number, number], to: readonly [number, number]): void {
  context.beginPath();
  context.moveTo(...from);
  context.lineTo(...to);
  context.stroke();
}
