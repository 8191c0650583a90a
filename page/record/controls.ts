/** Reads the player's input from keys, a finger or the mouse on the picture, or a gamepad. The most recent input counts. */
import { limited } from "./game.ts";

const KEYS: { readonly [code: string]: readonly [number, number] } = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
  KeyA: [-1, 0],
  KeyD: [1, 0],
  KeyW: [0, -1],
  KeyS: [0, 1],
};

/** The deflection below which a stick counts as untouched. */
const DEAD = 0.15;
/** The distance from the boat, in widths of the picture, at which a finger means full thrust. */
const REACH = 0.25;
/** A gamepad's directional pad: up, down, left, right, in the standard mapping. */
const CROSS: readonly (readonly [button: number, x: number, y: number])[] = [
  [12, 0, -1],
  [13, 0, 1],
  [14, -1, 0],
  [15, 1, 0],
];

export class Controls {
  readonly #element: HTMLElement;
  readonly #held = new Set<string>();
  #pointer: readonly [number, number] | undefined;

  /** @param element the picture, which handles keys while it has the focus */
  constructor(element: HTMLElement, signal: AbortSignal) {
    this.#element = element;
    const on = <K extends keyof HTMLElementEventMap>(type: K, listener: (event: HTMLElementEventMap[K]) => void) =>
      element.addEventListener(type, listener, { signal });
    on("keydown", (event) => {
      if (!(event.code in KEYS) || event.ctrlKey || event.metaKey || event.altKey) return;
      // This prevents the page from scrolling.
      event.preventDefault();
      this.#held.add(event.code);
    });
    on("keyup", ({ code }) => this.#held.delete(code));
    on("blur", () => this.release());
    on("pointerdown", (event) => {
      if (event.button !== 0) return;
      element.setPointerCapture(event.pointerId);
      this.#point(event);
    });
    on("pointermove", (event) => {
      if (this.#pointer !== undefined) this.#point(event);
    });
    for (const type of ["pointerup", "pointercancel"] as const) on(type, () => (this.#pointer = undefined));
  }

  /** Returns the requested thrust, for a boat at this place. */
  action(x: number, y: number): [number, number] {
    if (this.#pointer !== undefined) return limited((this.#pointer[0] - x) / REACH, (this.#pointer[1] - y) / REACH);
    const keys = [...this.#held].map((code) => KEYS[code] as readonly [number, number]);
    if (keys.length > 0) return limited(...sum(keys));
    return gamepads();
  }

  release(): void {
    this.#held.clear();
    this.#pointer = undefined;
  }

  #point(event: PointerEvent): void {
    const { left, top, width, height } = this.#element.getBoundingClientRect();
    this.#pointer = [(event.clientX - left) / width, (event.clientY - top) / height];
  }
}

/** Adds directions: two keys of the same direction count once, and opposite directions cancel. */
function sum(all: readonly (readonly [number, number])[]): [number, number] {
  const along = (axis: 0 | 1) => Math.sign(all.reduce((total, one) => total + one[axis], 0));
  return [along(0), along(1)];
}

function gamepads(): [number, number] {
  for (const pad of navigator.getGamepads?.() ?? []) {
    if (!pad?.connected) continue;
    const [x = 0, y = 0] = pad.axes;
    if (Math.hypot(x, y) > DEAD) return limited(x, y);
    const pressed = CROSS.filter(([button]) => pad.buttons[button]?.pressed).map(([, x, y]) => [x, y] as const);
    if (pressed.length > 0) return limited(...sum(pressed));
  }
  return [0, 0];
}
