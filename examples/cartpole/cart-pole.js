/** Gymnasium's CartPole-v1: push a cart left (0) or right (1) so that the pole on it stays up. The reward is 1 per step, for at most 500 steps. */
const [GRAVITY, POLE_MASS, TOTAL_MASS, HALF_LENGTH, FORCE, SECONDS] = [9.8, 0.1, 1.1, 0.5, 10, 0.02]; // SI units; the length is that of the pole

export class CartPole {
  state = [0, 0, 0, 0]; // position and speed of the cart, angle and angular speed of the pole
  steps = 0;

  constructor(random) {
    this.random = random;
  }

  reset() {
    this.steps = 0;
    this.state = this.state.map(() => 0.1 * this.random() - 0.05);
    return this.state;
  }

  step(action) {
    const [x, speed, angle, spin] = this.state;
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
    const push = ((action === 1 ? FORCE : -FORCE) + POLE_MASS * HALF_LENGTH * spin ** 2 * sin) / TOTAL_MASS;
    const spinUp = (GRAVITY * sin - cos * push) / (HALF_LENGTH * (4 / 3 - (POLE_MASS * cos ** 2) / TOTAL_MASS));
    const speedUp = push - (POLE_MASS * HALF_LENGTH * spinUp * cos) / TOTAL_MASS;
    this.state = [x + SECONDS * speed, speed + SECONDS * speedUp, angle + SECONDS * spin, spin + SECONDS * spinUp];
    const terminated = Math.abs(this.state[0]) > 2.4 || Math.abs(this.state[2]) > (12 * 2 * Math.PI) / 360;
    return { observation: this.state, reward: 1, terminated, truncated: ++this.steps >= 500 && !terminated };
  }
}
