/** Implements behaviour cloning: a network learns the recorded actions for the recorded states, with the mean squared error and Adam (Kingma and Ba, 2015). */
import { jit, numpy as np, random, tree, valueAndGrad } from "@jax-js/jax";
import { arrays } from "reprise/adapters/jax";
import { seeded } from "../../examples/random.js";
import { Game, limited, STATE } from "./game.ts";

const SIZES = [STATE.length, 64, 64, 2];
const [RATE, MEAN, SQUARE] = [2e-3, 0.1, 0.001];
/** The number of steps per update. */
export const BATCH = 128;

/**
 * The matrix that converts a state to the network's inputs: the positions of the ring and the rocks relative to the boat, scaled to similar sizes. The columns
 * are the inputs, and the rows are the numbers of STATE.
 */
const SEEN = (() => {
  const rows = STATE.map(() => new Array<number>(STATE.length).fill(0));
  const put = (row: number, column: number, value: number) => ((rows[row] as number[])[column] = value);
  for (const axis of [0, 1]) {
    put(axis, axis, 2);
    put(2 + axis, 2 + axis, 3);
    for (const thing of [4, 6, 8]) {
      put(thing + axis, thing + axis, 3);
      put(axis, thing + axis, -3);
    }
  }
  return rows;
})();

/** An array of jax-js. A call consumes the array, unless `ref` keeps it for one more call. */
type Values = ReturnType<typeof np.zeros>;
type Layer = { weights: Values; biases: Values };
type Network = Layer[];
type Training = { network: Network; means: Network; squares: Network };

function act(network: Network, states: Values): Values {
  const layer = (x: Values, { weights, biases }: Layer, i: number) => np.dot(i === 0 ? x : np.tanh(x), weights).add(biases);
  return network.reduce(layer, np.dot(states, np.array(SEEN)));
}

function loss(network: Network, states: Values, actions: Values): Values {
  return np.square(act(network, states).sub(actions)).mean();
}

/** `tree.map` over networks: combines the arrays at the same place. */
const each = (change: (...values: Values[]) => Values, ...networks: Network[]) => tree.map(change as never, ...(networks as [never])) as unknown as Network;
const follow = (share: number) => (average: Values, value: Values) => average.mul(1 - share).add(value.mul(share));

function update({ network, means, squares }: Training, states: Values, actions: Values, rate: Values): [Training, Values] {
  const [error, gradients] = valueAndGrad(loss)(tree.ref(network), states, actions) as unknown as [Values, Network];
  const newMeans = each(follow(MEAN), means, tree.ref(gradients));
  const newSquares = each(follow(SQUARE), squares, each(np.square, gradients));
  const move = (value: Values, mean: Values, square: Values) => value.sub(mean.mul(rate.ref).div(np.sqrt(square).add(1e-8)));
  return [{ network: each(move, network, tree.ref(newMeans), tree.ref(newSquares)), means: newMeans, squares: newSquares }, error];
}

/** All clones share the compiled functions, because jax-js keeps compiled code permanently. */
// biome-ignore lint/suspicious/noExplicitAny: jax-js types what it compiles by trees of its own
const compiledUpdate = jit(update as any) as unknown as typeof update;
// biome-ignore lint/suspicious/noExplicitAny: as above
const compiledAct = jit(act as any) as unknown as typeof act;

/** The columns of a batch of the Replay: observations and actions. */
export interface Lesson {
  readonly state: { readonly data: Float32Array };
  readonly action: { readonly data: Float32Array };
}

/** Replaces each step with a random one of its sixteen variants: the game is symmetric under mirroring, exchanged axes, and exchanged rocks. */
function turn({ state: { data: states }, action: { data: actions } }: Lesson, random: () => number): void {
  for (let row = 0; row < actions.length / 2; row++) {
    const [state, action] = [states.subarray(STATE.length * row, STATE.length * (row + 1)), actions.subarray(2 * row, 2 * row + 2)];
    for (const axis of [0, 1]) {
      if (random() < 0.5) continue;
      for (let i = axis; i < STATE.length; i += 2) state[i] = (i === 2 + axis ? 0 : 1) - (state[i] as number);
      action[axis] = -(action[axis] as number);
    }
    if (random() < 0.5) {
      for (let i = 0; i < STATE.length; i += 2) state.subarray(i, i + 2).reverse();
      action.reverse();
    }
    if (random() < 0.5) state.set([...state.subarray(8, 10), ...state.subarray(6, 8)], 6);
  }
}

export class Clone {
  #training: Training;
  #steps = 0;
  readonly #random: () => number;

  constructor(seed: number) {
    this.#random = seeded(seed);
    const keys = random.split(random.key(seed), SIZES.length - 1);
    const network = SIZES.slice(1).map((size, i) => {
      const bound = (SIZES[i] as number) ** -0.5;
      return { weights: random.uniform(keys.ref.slice(i), [SIZES[i] as number, size], { minval: -bound, maxval: bound }), biases: np.zeros([size]) };
    });
    keys.dispose();
    const zeros = () => each(np.zerosLike, tree.ref(network));
    this.#training = { means: zeros(), squares: zeros(), network };
  }

  /**
   * Makes one update, which changes the lesson. @param share the completed fraction of the training, from 0 to 1, which lowers the learning rate @returns the
   * mean squared error of the batch
   */
  learn(lesson: Lesson, share: number): number {
    turn(lesson, this.#random);
    const rate = (RATE * (1 - 0.95 * share) * Math.sqrt(1 - (1 - SQUARE) ** ++this.#steps)) / (1 - (1 - MEAN) ** this.#steps);
    const { state, action } = arrays(np, lesson as object) as unknown as { state: Values; action: Values };
    const [next, error] = compiledUpdate(this.#training, state, action, np.array(rate));
    this.#training = next;
    return error.item() as number;
  }

  /** Returns the clone's actions in these states, one row per state. */
  actions(states: readonly ArrayLike<number>[]): [number, number][] {
    const rows = np.array(states.map((state) => Array.from(state)));
    const values = compiledAct(tree.ref(this.#training.network) as Network, rows).dataSync() as Float32Array;
    return states.map((_, i) => limited(values[2 * i] as number, values[2 * i + 1] as number));
  }

  /** Plays unseen games in parallel. @returns the number of games in which the clone docked */
  trial(seeds: readonly number[]): number {
    const games = seeds.map((seed) => new Game(seed));
    let docked = 0;
    for (let running = games; running.length > 0; ) {
      // The network runs for all games, including ended games, because every new number of rows would be compiled again.
      const actions = this.actions(games.map((game) => game.observation()));
      running = running.filter((game) => {
        const { end } = game.step(actions[games.indexOf(game)] as [number, number]);
        if (end === "docked") docked++;
        return end === undefined;
      });
    }
    return docked;
  }

  dispose(): void {
    tree.dispose(this.#training);
  }
}
