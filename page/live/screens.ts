/** Shows a game's screens in a packed memory: the newest screen, one transition drawn from the memory, and the memory's size. */
import { h, section } from "../parts/element.ts";
import { bytes, count, figure } from "../parts/figures.ts";
import { startWorker } from "../parts/worker.ts";
import { SIZE } from "./breakout.ts";

/** The worker's state at one moment. */
export interface ScreensFrame {
  readonly screen: Uint8Array;
  /** The frames of one observation, one after the other; undefined before the first transition. */
  readonly drawn: Uint8Array | undefined;
  readonly frames: number;
  readonly bytes: number;
  readonly rawBytes: number;
  readonly ratio: number;
}

/** The number of milliseconds between two requests. */
const LOOK_MS = 200;
const STACK = 4;
/** The number of transitions in DQN's memory. */
const MILLION = 1_000_000;

const NAMES = ["Screens", "Packed", "As they are", "Ratio", "A million take"] as const;

export function screens(signal: AbortSignal, failed: (error: unknown) => void): HTMLElement {
  const now = new Screens(1, "The screen of the game, now");
  const drawn = new Screens(STACK, "The four screens of one observation, drawn from the memory");
  const values = new Map(NAMES.map((name) => [name, h("dd", {}, "–")]));
  const set = (name: (typeof NAMES)[number], text: string) => values.get(name)?.replaceChildren(text);

  const worker = startWorker("live/screens-worker.js", signal);
  worker.onerror = ({ message }) => failed(message || "the worker could not be loaded");
  worker.onmessage = ({ data }: MessageEvent<ScreensFrame>) => {
    now.paint(data.screen);
    if (data.drawn !== undefined) drawn.paint(data.drawn);
    set("Screens", count(data.frames));
    set("Packed", bytes(data.bytes));
    set("As they are", bytes(data.rawBytes));
    set("Ratio", Number.isNaN(data.ratio) ? "–" : `${figure(data.ratio)} ×`);
    set("A million take", data.frames === 0 ? "–" : bytes((MILLION * data.bytes) / data.frames));
  };
  const timer = setInterval(() => worker.postMessage("look"), LOOK_MS);
  signal.addEventListener("abort", () => clearInterval(timer));

  return section(
    "Screens in packed memory",
    h(
      "p",
      {},
      "The screens of a game, of 84 × 84 pixels, go into a leaf ",
      h("code", {}, 'packed("screens", u8(84, 84), 4)'),
      ". Each is stored as the bytes that differ from the screen before. Below is an observation of four screens that was drawn from the memory, every pixel as it was.",
    ),
    h("div", { class: "screens" }, now.element, drawn.element),
    h("dl", { class: "figures" }, ...[...values].map(([name, value]) => h("div", {}, h("dt", {}, name), value))),
  );
}

/** Several screens next to each other on a canvas. */
class Screens {
  readonly element: HTMLCanvasElement;
  readonly #context: CanvasRenderingContext2D;
  /** All painted screens share this image, to avoid garbage. */
  readonly #image: ImageData;

  constructor(count: number, label: string) {
    this.element = h("canvas", { class: "screen", role: "img", "aria-label": label, width: SIZE * count, height: SIZE });
    this.#context = this.element.getContext("2d") as CanvasRenderingContext2D;
    this.#image = this.#context.createImageData(SIZE, SIZE);
    this.#image.data.fill(255);
  }

  /** @param pixels one screen after the other */
  paint(pixels: Uint8Array): void {
    const { data } = this.#image;
    for (let at = 0, x = 0; at < pixels.length; at += SIZE * SIZE, x += SIZE) {
      for (let i = 0; i < SIZE * SIZE; i++) {
        const shade = pixels[at + i] as number;
        data[4 * i] = shade;
        data[4 * i + 1] = shade;
        data[4 * i + 2] = shade;
      }
      this.#context.putImageData(this.#image, x, 0);
    }
  }
}
