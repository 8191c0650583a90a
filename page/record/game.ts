/** Implements the game of the room Record: steer a boat around two rocks and stop in the ring. The same seed and actions produce the same states everywhere. */
import { seeded } from "../../examples/random.js";

/** The number of steps per second. */
export const FPS = 20;
/** An episode is truncated after this many steps: 15 seconds. */
export const MAX_STEPS = 300;
/** The numbers of an observation: positions in a unit square, with y downwards, and the boat's speed per second. */
export const STATE = ["x", "y", "vx", "vy", "ring_x", "ring_y", "rock1_x", "rock1_y", "rock2_x", "rock2_y"] as const;
/** The numbers of an action: thrust to the right and downwards. The length of the thrust is at most 1. */
export const ACTION = ["thrust_x", "thrust_y"] as const;

export const BOAT = 0.042;
export const RING = 0.085;
export const ROCK = 0.075;

const DT = 1 / FPS;
const THRUST = 1.1;
const DRAG = 1.1;
/** The fraction of its speed that a boat keeps when it hits the edge. */
const BOUNCE = 0.4;
/** The distance to the ring's middle, and the speed, below which the boat is docked. */
const [NEAR, SLOW] = [0.055, 0.16];

/** "docked" is a success. "wrecked" means that the boat hit a rock. "late" means that the time is up and the episode is truncated. */
export type End = "docked" | "wrecked" | "late";

export interface Outcome {
  /** The reward: 1 for docking, -1 for a wreck, and -1 / 300 for each step. */
  readonly reward: number;
  /** The reason for the end. Undefined while the episode continues. */
  readonly end: End | undefined;
}

/** Returns the player's action as f32, with a length of at most 1. */
export function limited(x: number, y: number): [number, number] {
  const length = Math.sqrt(x * x + y * y);
  // An action that is already limited stays unchanged.
  const scale = length > 1.000001 ? 1 / length : 1;
  return [Math.fround(x * scale), Math.fround(y * scale)];
}

export class Game {
  readonly seed: number;
  /** The state in the order of STATE. */
  readonly state = new Float64Array(STATE.length);
  steps = 0;

  constructor(seed: number) {
    this.seed = seed;
    const random = seeded(seed);
    const within = (margin: number) => margin + random() * (1 - 2 * margin);
    const far = (a: number, b: number, least: number) => distance(this.state, a, b) >= least;
    const draw = (at: number, margin: number, fits: () => boolean) => {
      do {
        this.state[at] = within(margin);
        this.state[at + 1] = within(margin);
      } while (!fits());
    };
    const [boat, ring, first, second] = [0, 4, 6, 8];
    draw(boat, 0.1, () => true);
    draw(ring, 0.13, () => far(ring, boat, 0.5));
    draw(first, 0.1, () => far(first, boat, 0.22) && far(first, ring, 0.23));
    draw(second, 0.1, () => far(second, boat, 0.22) && far(second, ring, 0.23) && far(second, first, 0.28));
  }

  /** Returns the whole state as it is recorded, in f32. */
  observation(): Float32Array<ArrayBuffer> {
    return Float32Array.from(this.state);
  }

  /** Takes one step with an action that is `limited`. */
  step([thrustX, thrustY]: readonly [number, number]): Outcome {
    const { state } = this;
    this.#move(0, thrustX);
    this.#move(1, thrustY);
    this.steps++;
    const end = this.#end();
    const speed = Math.sqrt((state[2] as number) ** 2 + (state[3] as number) ** 2);
    const docked = end === undefined && speed < SLOW && distance(state, 0, 4) < NEAR;
    const ended = docked ? "docked" : (end ?? (this.steps >= MAX_STEPS ? "late" : undefined));
    return { reward: (ended === "docked" ? 1 : ended === "wrecked" ? -1 : 0) - 1 / MAX_STEPS, end: ended };
  }

  #move(axis: number, thrust: number): void {
    const { state } = this;
    let speed = state[2 + axis] as number;
    speed += (thrust * THRUST - speed * DRAG) * DT;
    let place = (state[axis] as number) + speed * DT;
    if (place < BOAT || place > 1 - BOAT) {
      place = place < BOAT ? BOAT : 1 - BOAT;
      speed *= -BOUNCE;
    }
    state[axis] = place;
    state[2 + axis] = speed;
  }

  #end(): End | undefined {
    for (const rock of [6, 8]) if (distance(this.state, 0, rock) < BOAT + ROCK) return "wrecked";
    return undefined;
  }
}

function distance(state: Float64Array, a: number, b: number): number {
  const [x, y] = [(state[a] as number) - (state[b] as number), (state[a + 1] as number) - (state[b + 1] as number)];
  return Math.sqrt(x * x + y * y);
}
