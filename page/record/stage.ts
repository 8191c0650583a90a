/** Draws the picture and runs its clock: 20 steps per second, with as many frames between two steps as the screen allows. */
import { h } from "../parts/element.ts";
import { FPS, Game, STATE } from "./game.ts";
import { CAMERA, Painter } from "./picture.ts";

const STEP_MS = 1000 / FPS;
/** The size in pixels, which is sharp enough on a phone and quick to paint. */
const SIZE = 400;

/** The visible state at one step. */
export interface View {
  readonly state: ArrayLike<number>;
  readonly thrust: ArrayLike<number>;
}

/** The view before the first game. */
const START: View = { state: new Game(1).state, thrust: [0, 0] };

/** Takes one step: returns the next view, or undefined if the next view is not known yet, in which case the clock waits. */
export type Advance = () => View | undefined;

export class Stage {
  readonly element = h("canvas", {
    class: "stage",
    width: SIZE,
    height: SIZE,
    tabindex: 0,
    role: "application",
    "aria-label": "The game: a boat, a ring, two rocks. Steer with the arrow keys.",
  });
  readonly #signal: AbortSignal;
  readonly #context = this.element.getContext("2d") as CanvasRenderingContext2D;
  readonly #painter = new Painter(SIZE, 4);
  readonly #image = this.#context.createImageData(SIZE, SIZE);
  #from: View = START;
  #to = this.#from;
  #advance: Advance | undefined;
  #late = 0;
  #last = 0;
  #frame = 0;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener("abort", () => this.stop());
    this.#draw(1);
  }

  /** Shows one moment without motion. */
  show(view: View): void {
    this.#from = this.#to = view;
    this.#draw(1);
  }

  /** Continues from the current view, step by step. */
  run(advance: Advance): void {
    // A request that was made before the room was left may arrive later.
    if (this.#signal.aborted) return;
    this.#advance = advance;
    this.#late = 0;
    this.#last = performance.now();
    cancelAnimationFrame(this.#frame);
    this.#frame = requestAnimationFrame((now) => this.#tick(now));
  }

  stop(): void {
    this.#advance = undefined;
    cancelAnimationFrame(this.#frame);
  }

  #tick(now: number): void {
    // A tab that was hidden continues from the step at which it was hidden.
    this.#late += Math.min(Math.max(0, now - this.#last), 3 * STEP_MS);
    this.#last = now;
    while (this.#late >= STEP_MS && this.#advance !== undefined) {
      const view = this.#advance();
      if (view === undefined) {
        this.#late = STEP_MS;
        break;
      }
      this.#late -= STEP_MS;
      this.#from = this.#to;
      this.#to = view;
    }
    const goesOn = this.#advance !== undefined;
    this.#draw(goesOn ? this.#late / STEP_MS : 1);
    if (goesOn) this.#frame = requestAnimationFrame((next) => this.#tick(next));
  }

  readonly #between = new Float64Array(STATE.length);

  #draw(share: number): void {
    const [from, to] = [this.#from.state, this.#to.state];
    for (let i = 0; i < STATE.length; i++) this.#between[i] = (from[i] as number) + ((to[i] as number) - (from[i] as number)) * share;
    this.#painter.paint(this.#image.data, this.#between, this.#to.thrust);
    this.#context.putImageData(this.#image, 0, 0);
  }
}

/** The small picture of a step. */
export class Camera {
  readonly element = h("canvas", { class: "camera", width: CAMERA, height: CAMERA, role: "img", "aria-label": "The camera's picture, as it is recorded" });
  readonly #context = this.element.getContext("2d") as CanvasRenderingContext2D;
  readonly #image = this.#context.createImageData(CAMERA, CAMERA);
  readonly #painter = new Painter(CAMERA, 3);

  constructor() {
    this.show(this.take(START));
  }

  /** Returns a new picture of the game. */
  take(view: View): Uint8Array<ArrayBuffer> {
    const pixels = new Uint8Array(CAMERA * CAMERA * 3);
    this.#painter.paint(pixels, view.state, view.thrust);
    return pixels;
  }

  show(pixels: Uint8Array): void {
    const { data } = this.#image;
    for (let i = 0; i < CAMERA * CAMERA; i++) {
      for (let c = 0; c < 3; c++) data[4 * i + c] = pixels[3 * i + c] as number;
      data[4 * i + 3] = 255;
    }
    this.#context.putImageData(this.#image, 0, 0);
  }
}
