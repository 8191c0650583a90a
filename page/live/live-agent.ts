/** Implements the room's connection to its worker: sends commands, and requests the scene once per frame. */
import { startWorker } from "../parts/worker.ts";
import type { FromWorker, Scene, ToWorker } from "./messages.ts";

export class LiveAgent {
  readonly #ends = new AbortController();
  readonly #worker = startWorker("live/worker.js", this.#ends.signal);
  #asked = false;

  /** Connects to the agent's memory, for an inspector. */
  readonly inspect: MessagePort;

  /** @param show receives the requested scenes, at most one per frame */
  constructor(seed: number, show: (scene: Scene) => void, failed: (error: unknown) => void) {
    const { port1, port2 } = new MessageChannel();
    this.inspect = port1;
    this.#worker.onmessage = ({ data }: MessageEvent<FromWorker>) => {
      if (data.type === "failed") return failed(data.message);
      this.#asked = false;
      show(data.scene);
    };
    this.#worker.onerror = ({ message }) => failed(message || "the worker could not be loaded");
    this.#say({ type: "start", seed, inspect: port2 }, [port2]);
    this.#frame();
  }

  pace(rate: number): void {
    this.#say({ type: "pace", rate });
  }

  end(): void {
    this.inspect.close();
    this.#ends.abort();
  }

  #frame(): void {
    if (this.#ends.signal.aborted) return;
    requestAnimationFrame(() => this.#frame());
    // Only one request is pending at a time: while the agent plays its greedy episodes, the worker does not answer.
    if (this.#asked) return;
    this.#asked = true;
    this.#say({ type: "look" });
  }

  #say(message: ToWorker, handed: Transferable[] = []): void {
    this.#worker.postMessage(message, handed);
  }
}
