/** Keeps the current step, and advances it while an episode is played. */
export class Clock {
  step = 0;
  playing = false;
  speed = 1;
  changed: (step: number, playing: boolean) => void = () => {};
  readonly #fps: number;
  readonly #signal: AbortSignal;
  #frame = 0;
  #last = 0;
  /** The time at which the starting step was shown, in milliseconds. */
  #since = 0;
  #from = 0;

  /** @param fps steps per second */
  constructor(fps: number, signal: AbortSignal) {
    this.#fps = fps;
    this.#signal = signal;
    signal.addEventListener("abort", () => this.pause());
  }

  /** Shows a step. A running clock continues from that step. */
  set(step: number): void {
    this.step = step;
    this.#begin();
    this.changed(step, this.playing);
  }

  setSpeed(speed: number): void {
    this.speed = speed;
    this.#begin();
    this.changed(this.step, this.playing);
  }

  play(from: number, last: number): void {
    if (this.#signal.aborted) return;
    this.#last = last;
    this.playing = true;
    this.set(from);
    const tick = (now: number) => {
      const step = Math.min(this.#last, this.#from + Math.floor(((now - this.#since) / 1000) * this.#fps * this.speed));
      if (step > this.step) {
        this.step = step;
        this.changed(step, true);
      }
      if (step >= this.#last) this.pause();
      else this.#frame = requestAnimationFrame(tick);
    };
    this.#frame = requestAnimationFrame(tick);
  }

  pause(): void {
    cancelAnimationFrame(this.#frame);
    if (!this.playing) return;
    this.playing = false;
    if (!this.#signal.aborted) this.changed(this.step, false);
  }

  #begin(): void {
    this.#since = performance.now();
    this.#from = this.step;
  }
}
