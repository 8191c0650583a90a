/**
 * Paints the game at any size: the player's view, and the small camera picture of a step. The painting uses only sums, products and square roots, so that all
 * browsers produce the same bytes.
 */
import { BOAT, RING, ROCK } from "./game.ts";

/** The width and height of the recorded picture. */
export const CAMERA = 64;

type Colour = readonly [red: number, green: number, blue: number];

const SEA: Colour = [16, 66, 92];
const SHALLOW: Colour = [34, 118, 138];
const FOAM: Colour = [214, 240, 238];
const BUOY: Colour = [255, 196, 61];
const STONE: Colour = [94, 84, 82];
const STONE_LIT: Colour = [150, 138, 128];
const SHADE: Colour = [6, 34, 52];
const HULL: Colour = [244, 246, 240];
const DECK: Colour = [226, 84, 58];

export class Painter {
  readonly size: number;
  readonly #channels: 3 | 4;
  readonly #background: Uint8Array<ArrayBuffer>;

  /** @param channels 3 for RGB, 4 for RGBA */
  constructor(size: number, channels: 3 | 4) {
    this.size = size;
    this.#channels = channels;
    this.#background = new Uint8Array(size * size * channels).fill(255);
    for (let y = 0; y < size; y++) for (let x = 0; x < size; x++) this.#water(x, y);
  }

  /** @param state the state of an observation @param thrust the last action, whose wake is shown */
  paint(pixels: Uint8Array | Uint8ClampedArray, state: ArrayLike<number>, thrust: ArrayLike<number>): void {
    pixels.set(this.#background);
    const at = (i: number): [number, number] => [state[i] as number, state[i + 1] as number];
    const disc = (x: number, y: number, radius: number, colour: Colour, strength = 1, hole = 0) => this.#disc(pixels, x, y, radius, colour, strength, hole);
    const [ringX, ringY] = at(4);
    disc(ringX, ringY, RING, SHALLOW, 0.55);
    disc(ringX, ringY, RING, BUOY, 1, RING - 0.018);
    disc(ringX, ringY, 0.014, BUOY, 0.9);
    for (const rock of [6, 8]) {
      const [x, y] = at(rock);
      disc(x, y, ROCK + 0.014, FOAM, 0.5);
      disc(x, y, ROCK, STONE);
      disc(x - 0.016, y - 0.018, ROCK - 0.03, STONE_LIT, 0.8);
    }
    const [x, y] = at(0);
    const [pushX, pushY] = [thrust[0] ?? 0, thrust[1] ?? 0];
    for (let i = 3; i > 0; i--) disc(x - pushX * (0.022 + 0.021 * i), y - pushY * (0.022 + 0.021 * i), 0.03 - 0.006 * i, FOAM, 0.85 - 0.15 * i);
    disc(x + 0.008, y + 0.012, BOAT, SHADE, 0.45);
    disc(x, y, BOAT, HULL);
    disc(x, y, BOAT - 0.014, DECK);
    disc(x + pushX * 0.016, y + pushY * 0.016, 0.012, HULL);
  }

  /** Paints the sea, which is lighter in the middle and has rows of crests. */
  #water(x: number, y: number): void {
    const { size } = this;
    const [u, v] = [(x + 0.5) / size, (y + 0.5) / size];
    const middle = 1 - Math.min(1, 2 * ((u - 0.5) * (u - 0.5) + (v - 0.5) * (v - 0.5)));
    const row = v * 8 - Math.floor(v * 8);
    const column = u * 4 + (Math.floor(v * 8) % 2) / 2;
    const along = Math.abs(column - Math.floor(column) - 0.5);
    const bend = row - 0.5 + along * along * 1.6;
    const crest = along < 0.25 ? Math.max(0, 1 - Math.abs(bend) * 12) * (1 - along * 4) * 0.22 : 0;
    for (let c = 0; c < 3; c++) {
      const [deep, light, foam] = [SEA[c] as number, SHALLOW[c] as number, FOAM[c] as number];
      const water = deep + (light - deep) * middle * 0.55;
      this.#background[(y * size + x) * this.#channels + c] = Math.round(water + (foam - water) * crest);
    }
  }

  /** Paints a disc, or a ring if it has a hole, with soft edges. Lengths are relative to the width. */
  #disc(pixels: Uint8Array | Uint8ClampedArray, cx: number, cy: number, radius: number, colour: Colour, strength: number, hole: number): void {
    const { size } = this;
    const channels = this.#channels;
    const [x0, y0, r, inner] = [cx * size - 0.5, cy * size - 0.5, radius * size, hole * size];
    const [left, right] = [Math.max(0, Math.floor(x0 - r - 1)), Math.min(size - 1, Math.ceil(x0 + r + 1))];
    const [top, bottom] = [Math.max(0, Math.floor(y0 - r - 1)), Math.min(size - 1, Math.ceil(y0 + r + 1))];
    for (let y = top; y <= bottom; y++) {
      for (let x = left; x <= right; x++) {
        const distance = Math.sqrt((x - x0) * (x - x0) + (y - y0) * (y - y0));
        let cover = Math.min(1, r - distance + 0.5);
        if (hole > 0) cover = Math.min(cover, distance - inner + 0.5);
        if (cover <= 0) continue;
        const share = cover * strength;
        const at = (y * size + x) * channels;
        for (let c = 0; c < 3; c++) {
          const below = pixels[at + c] as number;
          pixels[at + c] = Math.round(below + ((colour[c] as number) - below) * share);
        }
      }
    }
  }
}
