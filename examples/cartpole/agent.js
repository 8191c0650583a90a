/** Acts, remembers, learns: the environment takes a step, and the result goes to the replay and to the learner. */
import { drive, StepType } from "reprise/agents";
import { seeded } from "../random.js";
import { CartPole } from "./cart-pole.js";
import { Experience } from "./experience.js";
import { Learner } from "./learner.js";

export class Agent {
  steps = 0;
  replayMs = 0;
  returns = []; // of the ended episodes
  curve = []; // means of 20 greedy episodes, every 2,000 steps
  // Everything besides the replay that its future depends on:
  static kept = ["steps", "replayMs", "returns", "curve", "state", "random.state", "world.state", "world.steps", "learner.steps", "learner.numbers"];

  constructor(seed, client) {
    this.random = seeded(seed);
    this.experience = new Experience(client, 32);
    this.learner = new Learner(seed);
    this.world = new CartPole(this.random);
  }

  step() {
    const { learner, random } = this;
    const exploring = random() < Math.max(0.05, 1 - this.steps++ / 8000);
    const policy = (observation) => (exploring ? Math.floor(2 * random()) : learner.actions([observation])[0]);
    const remember = (trajectory) => this.#timed(() => this.experience.add(trajectory));
    this.state = drive(this.world, policy, [remember, () => this.#learn()], { steps: 1 }, this.state);
    if (this.state.timeStep.stepType === StepType.LAST) this.returns.push(this.world.steps);
    if (this.steps % 2000 === 0) this.curve.push(this.#greedyReturn());
  }

  #learn() {
    const batch = this.#timed(() => this.experience.sample());
    if (batch.blocked !== undefined) return; // not enough to learn from yet
    const errors = this.learner.learn(batch);
    this.#timed(() => this.experience.update(errors));
  }

  /** The mean return of 20 greedy episodes, run side by side, from the same first states each time. */
  #greedyReturn() {
    const random = seeded(0);
    const worlds = Array.from({ length: 20 }, () => new CartPole(random));
    for (const world of worlds) world.reset();
    for (let running = worlds; running.length > 0; ) {
      const actions = this.learner.actions(running.map((world) => world.state));
      const outcomes = running.map((world, i) => world.step(actions[i]));
      running = running.filter((_, i) => !outcomes[i].terminated && !outcomes[i].truncated);
    }
    return worlds.reduce((sum, world) => sum + world.steps, 0) / worlds.length;
  }

  #timed(call) {
    const start = performance.now();
    const result = call();
    this.replayMs += performance.now() - start;
    return result;
  }
}
