/** Acts, remembers, learns: a step of the environment, then a step of the learner. */
import { seeded } from "../random.js";
import { CartPole } from "./cart-pole.js";
import { Experience } from "./experience.js";
import { Learner } from "./learner.js";

export class Agent {
  steps = 0;
  replayMs = 0;
  returns = []; // of the episodes that ended
  curve = []; // means of 20 greedy episodes, every 2,000 steps

  constructor(seed) {
    this.random = seeded(seed);
    this.experience = new Experience({ capacity: 20_000, batchSize: 32, seed });
    this.learner = new Learner(seed);
    this.world = new CartPole().reset(this.random);
  }

  step() {
    const { experience, learner, random, world } = this;
    const exploring = random() < Math.max(0.05, 1 - this.steps++ / 8000);
    const observation = world.state;
    const action = exploring ? Math.floor(2 * random()) : learner.actions([observation])[0];
    const outcome = world.step(action);
    const start = performance.now();
    experience.add(observation, action, outcome);
    const batch = experience.sample();
    this.replayMs += performance.now() - start;
    if (batch.blocked === undefined) {
      const errors = learner.learn(batch);
      const learned = performance.now();
      experience.update(errors);
      this.replayMs += performance.now() - learned;
    }
    if (outcome.ended) this.returns.push(world.steps);
    if (outcome.ended) world.reset(random);
    if (this.steps % 2000 === 0) this.curve.push(this.#greedyReturn());
  }

  /** Mean of 20 greedy episodes side by side, from the same first states each time. */
  #greedyReturn() {
    const random = seeded(0);
    const worlds = Array.from({ length: 20 }, () => new CartPole().reset(random));
    for (let running = worlds; running.length > 0; ) {
      const actions = this.learner.actions(running.map((world) => world.state));
      running = running.filter((world, i) => !world.step(actions[i]).ended);
    }
    return worlds.reduce((sum, world) => sum + world.steps, 0) / worlds.length;
  }
}
