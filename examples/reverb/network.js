/** The network of learner.py: dense layers with ReLU between them. Weights are [inputs, outputs], row by row. */
export class Network {
  updates = 0; // of the learner, until these weights

  /** @param weights columns {data, shape}: weights and biases of each layer in turn */
  constructor(weights, updates) {
    this.weights = weights;
    this.updates = updates;
  }

  /** The action of the largest value. */
  best(observation) {
    const values = this.#values(observation);
    return values.indexOf(Math.max(...values));
  }

  #values(observation) {
    let values = observation;
    for (let layer = 0; layer < this.weights.length; layer += 2) {
      const [{ data, shape }, { data: biases }] = this.weights.slice(layer, layer + 2);
      const inputs = layer === 0 ? values : values.map((value) => Math.max(value, 0));
      values = Array.from(biases, (bias, j) => inputs.reduce((sum, input, i) => sum + input * data[i * shape[1] + j], bias));
    }
    return values;
  }
}
