/** Acts, remembers, learns: the environment takes a step, and the result goes to the replay and to the learner. */
import { seeded } from "../random.js";
import { CartPole } from "./cart-pole.js";
import { Experience } from "./experience.js";
import { Learner } from "./learner.js";

export class Agent {
  steps = 0;
  replayMs = 0;
  returns = []; // of the ended episodes
  curve = []; // means of 100 greedy episodes, every 2,000 steps
  // Everything besides the replay that its future depends on:
  static kept = ["steps", "replayMs", "returns", "curve", "random.state", "world.state", "world.steps", "learner.steps", "learner.numbers"];

  constructor(seed, client) {
    this.random = seeded(seed);
    this.experience = new Experience(client);
    this.learner = new Learner(seed);
    this.world = new CartPole(this.random);
    this.world.reset();
  }

  step() {
    const { experience, learner, random, world } = this;
    const observation = world.state;
    const exploring = random() < Math.max(0.05, 1 - this.steps++ / 8000);
    this.action = exploring ? Math.floor(2 * random()) : learner.actions([observation])[0];
    const { observation: next, reward, terminated, truncated } = world.step(this.action);
    if (terminated || truncated) {
      this.returns.push(world.steps);
      world.reset();
    }
    const batch = this.#timed(() => {
      experience.add({ observation, action: this.action, reward }, next, terminated, truncated);
      return experience.sample(32);
    });
    const errors = batch && learner.learn(batch);
    if (errors) this.#timed(() => experience.update(batch, errors));
    if (this.steps % 2000 === 0) this.curve.push(this.#greedyReturn());
  }

  /** The mean return of 100 greedy episodes, run side by side, from the same first states each time. */
  #greedyReturn() {
    const random = seeded(0);
    const worlds = Array.from({ length: 100 }, () => new CartPole(random));
    for (const world of worlds) world.reset();
    for (let running = [...worlds.keys()]; running.length > 0; ) {
      const actions = this.learner.actions(worlds.map((world) => world.state)); // of all: each other number would be compiled anew
      const outcomes = running.map((i) => worlds[i].step(actions[i]));
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
