/** Double DQN (van Hasselt et al., 2016) with Adam (Kingma and Ba, 2015). */
import { jit, nn, numpy as np, tree, valueAndGrad } from "@jax-js/jax";
import { arrays } from "reprise/adapters/jax";
import { newNetwork, valuesOf } from "./network.js";

const [RATE, MEAN, SQUARE, TARGET] = [5e-4, 0.1, 0.001, 0.01]; // learning rate, and the rates at which the averages follow
const follow = (share) => (average, value) => average.mul(1 - share).add(value.mul(share));

function loss(online, observation, action, goal, weights) {
  const errors = valuesOf(online, observation).mul(action).sum(1).sub(goal);
  return [np.square(errors.ref).mul(weights).mean(), errors];
}

function train({ online, target, means, squares }, { observation, action, nextObservation, returns, discounts, weights }, rate) {
  // The online network chooses the best action, the target network estimates its value.
  const best = nn.oneHot(np.argmax(valuesOf(tree.ref(online), nextObservation.ref), 1), 2);
  const goal = returns.add(discounts.mul(valuesOf(tree.ref(target), nextObservation).mul(best).sum(1)));
  const [[, errors], gradients] = valueAndGrad(loss, { hasAux: true })(tree.ref(online), observation, nn.oneHot(action, 2), goal, weights);
  const newMeans = tree.map(follow(MEAN), means, tree.ref(gradients));
  const newSquares = tree.map(follow(SQUARE), squares, tree.map(np.square, gradients));
  const move = (value, mean, square) => value.sub(mean.mul(rate.ref).div(np.sqrt(square).add(1e-8)));
  const newOnline = tree.map(move, online, tree.ref(newMeans), tree.ref(newSquares));
  const newTarget = tree.map(follow(TARGET), target, tree.ref(newOnline));
  return [{ online: newOnline, target: newTarget, means: newMeans, squares: newSquares }, errors];
}
const [compiledTrain, compiledValuesOf] = [jit(train), jit(valuesOf)];

export class Learner {
  constructor(seed) {
    this.steps = 0;
    const online = newNetwork(seed);
    const zeros = () => tree.map(np.zerosLike, tree.ref(online));
    this.state = { online, target: tree.ref(online), means: zeros(), squares: zeros() };
  }

  actions(observations) {
    const values = compiledValuesOf(tree.ref(this.state.online), np.array(observations)).dataSync();
    return observations.map((_, i) => (values[2 * i + 1] > values[2 * i] ? 1 : 0));
  }

  /** The weights and their averages. */
  get numbers() {
    return tree.map((array) => array.ref.dataSync(), this.state);
  }
  set numbers(numbers) {
    this.state = tree.map((array, data) => np.array(Float32Array.from(data), { shape: array.shape }), this.state, numbers);
  }

  learn(batch) {
    const rate = (RATE * Math.sqrt(1 - (1 - SQUARE) ** ++this.steps)) / (1 - (1 - MEAN) ** this.steps);
    const [next, errors] = compiledTrain(this.state, arrays(np, batch), np.array(rate));
    this.state = next;
    return errors.dataSync();
  }
}
