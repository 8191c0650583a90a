/** A network with two hidden layers that estimates the value of each action. In jax-js a call consumes its arrays; `ref` keeps an array for one more call. */
import { nn, numpy as np, random } from "@jax-js/jax";

const SIZES = [4, 256, 256, 2];
const SCALES = [0.5, 0.5, 5, 0.5]; // bring position, speed, angle and spin to similar sizes

export function newNetwork(seed) {
  const keys = random.split(random.key(seed), SIZES.length - 1);
  return SIZES.slice(1).map((size, i) => {
    const bound = SIZES[i] ** -0.5;
    return { weights: random.uniform(keys.ref.slice(i), [SIZES[i], size], { minval: -bound, maxval: bound }), biases: np.zeros([size]) };
  });
}

/** From observations, [batch, 4], to the value of each action, [batch, 2]. */
export function valuesOf(network, observations) {
  const layer = (x, { weights, biases }, i) => np.dot(i === 0 ? x : nn.relu(x), weights).add(biases);
  return network.reduce(layer, observations.mul(np.array(SCALES)));
}
