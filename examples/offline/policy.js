/** A linear policy with actions cut to -1 … 1. It learns with Adam (Kingma and Ba, 2015) on the squared error, in plain typed arrays. */
const [DECAY, SQUARE_DECAY, TINY] = [0.9, 0.999, 1e-8];

export class Policy {
  #weights; // [actions, observations + 1]: the last weight of each row is the bias
  #gradient;
  #moments;
  #squares;
  #updates = 0;

  /** @param mean and std of each element of an observation */
  constructor({ mean, std }, actions, random) {
    this.mean = mean;
    this.scale = std.map((one) => 1 / (one || 1));
    this.actions = actions;
    this.#weights = Float64Array.from({ length: actions * (mean.length + 1) }, () => 0.1 * (random() - 0.5));
    [this.#gradient, this.#moments, this.#squares] = [0, 1, 2].map(() => new Float64Array(this.#weights.length));
  }

  /** The mean squared error of its actions. If a rate is given, it also learns from the batch. */
  error({ observation, action }, rate = 0) {
    const { length } = this.mean;
    const n = observation.length / length;
    const input = new Float64Array(length + 1).fill(1);
    const gradient = this.#gradient.fill(0);
    let sum = 0;
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < length; j++) input[j] = (observation[i * length + j] - this.mean[j]) * this.scale[j];
      for (let k = 0; k < this.actions; k++) {
        const row = k * (length + 1);
        let output = 0;
        for (let j = 0; j <= length; j++) output += this.#weights[row + j] * input[j];
        // Outside the bounds, use the gradient at the bounds: an action within them pulls the output back.
        const error = Math.min(1, Math.max(-1, output)) - action[i * this.actions + k];
        sum += error * error;
        if (rate > 0) for (let j = 0; j <= length; j++) gradient[row + j] += (2 * error * input[j]) / n;
      }
    }
    if (rate > 0) this.#descend(rate);
    return sum / (n * this.actions);
  }

  #descend(rate) {
    const step = (rate * Math.sqrt(1 - SQUARE_DECAY ** ++this.#updates)) / (1 - DECAY ** this.#updates);
    this.#gradient.forEach((slope, i) => {
      this.#moments[i] += (1 - DECAY) * (slope - this.#moments[i]);
      this.#squares[i] += (1 - SQUARE_DECAY) * (slope * slope - this.#squares[i]);
      this.#weights[i] -= (step * this.#moments[i]) / (Math.sqrt(this.#squares[i]) + TINY);
    });
  }
}
