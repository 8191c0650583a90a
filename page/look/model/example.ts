/** Makes sample data for visitors without their own: games of CartPole, as JSON lines. */
import { CartPole } from "../../../examples/cartpole/cart-pole.js";
import { seeded } from "../../../examples/random.js";

const EPISODES = 30;
/** The probabilities with which the opposite push replaces the good push. They differ between episodes, so that the lengths of episodes vary. */
const SLIPS = [0.5, 0.25, 0.1];

export const EXAMPLE_NAME = "cartpole-example.jsonl";

/** Returns one episode per line. Every call returns the same text. */
export function exampleLines(): string {
  const random = seeded(7);
  const lines: string[] = [];
  for (let episode = 0; episode < EPISODES; episode++) {
    const world = new CartPole(random);
    const slip = SLIPS[episode % SLIPS.length] as number;
    const [observations, actions, rewards] = [[rounded(world.reset())], [] as number[], [] as number[]];
    let isTerminated = false;
    for (let isOver = false; !isOver; ) {
      const [x = 0, speed = 0, angle = 0, spin = 0] = world.state;
      const good = angle + 0.3 * spin + 0.05 * x + 0.1 * speed > 0 ? 1 : 0;
      const action = random() < slip ? 1 - good : good;
      const { observation, reward, terminated, truncated } = world.step(action);
      observations.push(rounded(observation));
      actions.push(action);
      rewards.push(reward);
      isTerminated = terminated;
      isOver = terminated || truncated;
    }
    lines.push(JSON.stringify({ observations, actions, rewards, terminated: isTerminated, truncated: !isTerminated, policy: `slips ${100 * slip} %` }));
  }
  return `${lines.join("\n")}\n`;
}

function rounded(values: readonly number[]): number[] {
  return values.map((value) => Number(value.toFixed(5)));
}
