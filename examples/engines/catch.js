// A game without an engine: balls fall, and a paddle that learns while it is played is to catch them. An engine calls `frame` in its update loop and draws the rest.
import { f32, i32, prioritized, Replay } from "reprise";

export const WIDTH = 13;
export const HEIGHT = 14;
const REACH = 1; // cells that the paddle reaches to each side
const ACTIONS = [-1, 0, 1];
const BATCH = 64;

export class Catch {
  ball = { x: 0, y: 0 };
  paddle = Math.floor(WIDTH / 2);
  caught = 0;
  missed = 0;
  frames = 0;

  constructor(seed) {
    this.random = generator(seed);
    this.replay = new Replay({
      spec: { observation: i32(), action: i32(), reward: f32() },
      tables: { memory: { maxSize: 50_000, sampler: prioritized(0.6) } },
      seed,
    });
    this.writer = this.replay.writer({ items: [{ table: "memory", nStep: 3 }] });
    this.memory = this.replay.tables.memory;
    this.transitions = this.memory.transitions({ gamma: 0.95 });
    this.values = new Float32Array(2 * WIDTH * ACTIONS.length); // one value for each place of the ball beside the paddle, and each action
    this.errors = new Float64Array(BATCH);
    this.drop();
  }

  // One frame: the agent acts, the ball falls, and one batch is learned from.
  frame() {
    this.frames++;
    const observation = this.observation();
    const action = this.random() < 0.1 ? Math.floor(this.random() * ACTIONS.length) : this.best(observation);
    this.paddle = Math.min(Math.max(this.paddle + ACTIONS[action], 0), WIDTH - 1);
    this.ball.y++;
    const landed = this.ball.y === HEIGHT - 1;
    const caught = landed && Math.abs(this.ball.x - this.paddle) <= REACH;
    this.writer.append({ observation, action, reward: landed ? (caught ? 1 : -1) : 0 });
    if (landed) {
      this.writer.endEpisode({ final: { observation: this.observation() }, terminated: true });
      if (caught) this.caught++;
      else this.missed++;
      this.drop();
    }
    if (this.memory.size >= BATCH) this.learn();
  }

  // The batch's memory comes back, so that no frame waits for the garbage collector.
  learn() {
    const batch = this.transitions.sample(BATCH, { beta: 0.5, recycle: true });
    const { observation, nextObservation, action, returns, discounts, weights, keys } = batch;
    for (let i = 0; i < BATCH; i++) {
      const next = nextObservation.data[i];
      const at = observation.data[i] * ACTIONS.length + action.data[i];
      const error = returns.data[i] + discounts.data[i] * this.values[next * ACTIONS.length + this.best(next)] - this.values[at];
      this.values[at] += 0.5 * weights.data[i] * error;
      this.errors[i] = Math.abs(error) + 0.001;
    }
    this.memory.updatePriorities(keys, this.errors);
    batch.release();
  }

  best(observation) {
    let best = 0;
    const at = observation * ACTIONS.length;
    for (let action = 1; action < ACTIONS.length; action++) if (this.values[at + action] > this.values[at + best]) best = action;
    return best;
  }

  observation() {
    return this.ball.x - this.paddle + WIDTH;
  }

  drop() {
    this.ball = { x: Math.floor(this.random() * WIDTH), y: 0 };
  }
}

// Call it while the game loads: the host then compiles the code of a frame. Otherwise, some frames in the first seconds of play take 4 ms or more.
// One memory is not enough: V8 discards code that it compiled for a single memory when a second one appears.
export function warmUp() {
  for (let seed = 1; seed <= 3; seed++) for (const game = new Catch(seed); game.frames < 2500; ) game.frame();
}

// Numbers in [0, 1) from a seed (mulberry32).
function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
