/** Runs the unchanged agent of `npm start`. The agent takes steps at the visitor's pace, and can be inspected between two steps. */
import { Replay } from "reprise";
import { LocalClient } from "reprise/agents";
import { type InspectedReplay, serveInspector } from "reprise/inspector";
import { Agent } from "../../examples/cartpole/agent.js";
import { memory } from "../../examples/cartpole/experience.js";
import type { FromWorker, Point, Scene, ToWorker } from "./messages.ts";
import { Pace } from "./pace.ts";

/** The number of milliseconds between two checks for messages. */
const SLICE = 8;

const say = (message: FromWorker) => postMessage(message);

class Live {
  readonly #agent: Agent;
  readonly #inspected: InspectedReplay;
  readonly #pace = new Pace();
  readonly #turns = new MessageChannel();
  #returns: Point[] = [];
  #greedy: Point[] = [];
  #busyMs = 0;
  #episodes = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #queued = false;
  #paused = false;

  constructor(seed: number, inspect: MessagePort) {
    const replay = new Replay({ ...memory, seed });
    this.#inspected = serveInspector(replay, inspect);
    this.#agent = new Agent(seed, new LocalClient(replay));
    this.#turns.port1.onmessage = () => {
      this.#queued = false;
      this.#run();
    };
  }

  set rate(rate: number) {
    this.#pace.set(rate, performance.now());
    this.#next();
  }

  #step(): void {
    const agent = this.#agent;
    const start = performance.now();
    agent.step();
    this.#busyMs += performance.now() - start;
    const { steps } = agent;
    // The entries are removed, so that neither list grows while the page is open.
    const [ended] = agent.returns.splice(0) as number[];
    const [mean] = agent.curve.splice(0) as number[];
    if (ended !== undefined) {
      this.#episodes++;
      this.#returns.push({ step: steps, value: ended });
    }
    if (mean !== undefined) this.#greedy.push({ step: steps, value: mean });
  }

  look(): Scene {
    const { world, action, steps, replayMs } = this.#agent;
    const [returns, greedy] = [this.#returns, this.#greedy];
    [this.#returns, this.#greedy] = [[], []];
    return { state: world.state, action, steps, episode: this.#episodes + 1, length: world.steps, returns, greedy, busyMs: this.#busyMs, replayMs };
  }

  /** Takes the steps that are due, until the slice ends or the inspector pauses the agent. */
  #run(): void {
    if (this.#paused) return;
    const end = performance.now() + SLICE;
    for (let now = performance.now(); now < end && this.#pace.due(now) >= 1; now = performance.now()) {
      const turn = this.#inspected.turn();
      if (turn !== undefined) return void this.#wait(turn);
      this.#step();
      this.#pace.took(1);
    }
    this.#next();
  }

  /** Waits until the inspector allows a step, takes the step, and continues. */
  async #wait(turn: Promise<void>): Promise<void> {
    this.#paused = true;
    await turn;
    this.#paused = false;
    try {
      this.#step();
    } catch (error) {
      return failed(error);
    }
    this.#next();
  }

  /** Continues when the next step is due, after all pending messages. */
  #next(): void {
    clearTimeout(this.#timer);
    const { wait } = this.#pace;
    if (wait > 1) {
      if (wait !== Infinity) this.#timer = setTimeout(() => this.#run(), wait);
    } else if (!this.#queued) {
      this.#queued = true;
      this.#turns.port2.postMessage(undefined);
    }
  }
}

let live: Live | undefined;

function take(message: ToWorker): void {
  if (message.type === "start") live = new Live(message.seed, message.inspect);
  else if (message.type === "pace" && live) live.rate = message.rate;
  else if (message.type === "look" && live) say({ type: "scene", scene: live.look() });
}

const failed = (error: unknown) => say({ type: "failed", message: error instanceof Error ? error.message : String(error) });

addEventListener("message", ({ data }: MessageEvent<ToWorker>) => {
  try {
    take(data);
  } catch (error) {
    failed(error);
  }
});
addEventListener("error", ({ error, message }) => failed(error ?? message));
