/**
 * Runs the activity in the picture: the player's episodes, which are recorded; the clone's episodes, which are not recorded; or the replay of a recorded
 * episode.
 */
import type { Controls } from "./controls.ts";
import type { Recording, Step } from "./demonstrations.ts";
import { type End, Game } from "./game.ts";
import type { Saved } from "./messages.ts";
import { CAMERA } from "./picture.ts";
import type { Recorder } from "./recorder.ts";
import type { Camera, Stage, View } from "./stage.ts";

/** The number of milliseconds between two episodes. */
const PAUSE_MS = 1000;
/** The first seed of the clone's games, after the seeds of its trial. */
const CLONE_SEED = 1_000_100;

export type Mode = "idle" | "play" | "clone" | "replay";

/** Receives changes to show in the room. */
export interface Watcher {
  mode(mode: Mode): void;
  /** Receives a sentence about the activity in the picture. */
  say(text: string): void;
  saved(saved: Saved): void;
  trouble(error: unknown): void;
  /** Receives the row of the replayed episode. */
  at(row: number): void;
}

const WORDS: { readonly [E in End]: string } = { docked: "docked", wrecked: "hit a rock", late: "ran out of time" };

export class Session {
  readonly #stage: Stage;
  readonly #camera: Camera;
  readonly #controls: Controls;
  readonly #recorder: Recorder;
  readonly #watcher: Watcher;
  #mode: Mode = "idle";
  #game: Game | undefined;
  #thrust: readonly [number, number] = [0, 0];
  /** The number of the activity, by which late results of earlier activities are recognized and dropped. */
  #turn = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #recording: Recording | undefined;
  /** Resolves when the previous episode is saved, and the number of the next episode is known. */
  #ending: Promise<Saved | undefined> = Promise.resolve(undefined);

  constructor(stage: Stage, camera: Camera, controls: Controls, recorder: Recorder, watcher: Watcher) {
    this.#stage = stage;
    this.#camera = camera;
    this.#controls = controls;
    this.#recorder = recorder;
    this.#watcher = watcher;
  }

  get mode(): Mode {
    return this.#mode;
  }

  /** @param next returns the number of the next episode, which is also its seed */
  async play(next: () => number): Promise<void> {
    await this.stop();
    const turn = this.#turn;
    await this.#ending;
    if (turn !== this.#turn) return;
    this.#enter("play");
    await this.#begin(next());
  }

  async clone(): Promise<void> {
    await this.stop();
    this.#enter("clone");
    this.#cloneGame(CLONE_SEED, 0);
  }

  async replay(recording: Recording): Promise<void> {
    await this.stop();
    this.#enter("replay");
    this.#recording = recording;
    this.seek(0);
    this.resume(0);
  }

  /** Shows a row of the recorded episode, and pauses at that row. */
  seek(row: number): void {
    const recording = this.#recording;
    if (recording === undefined) return;
    this.#stage.stop();
    this.#stage.show(this.#rowOf(recording, row));
  }

  /** Continues the recorded episode. */
  resume(row: number): void {
    const recording = this.#recording;
    if (recording === undefined) return;
    let at = row;
    this.#stage.run(() => {
      if (at + 1 >= recording.rows) {
        this.#stage.stop();
        return undefined;
      }
      return this.#rowOf(recording, ++at);
    });
  }

  pause(): void {
    this.#stage.stop();
  }

  /** Stops the activity. A partly played episode is saved. */
  async stop(): Promise<void> {
    const [mode, game] = [this.#mode, this.#game];
    clearTimeout(this.#timer);
    this.#turn++;
    this.#stage.stop();
    this.#recording = undefined;
    this.#game = undefined;
    if (mode === "idle") return;
    this.#enter("idle");
    if (mode !== "play" || game === undefined) return;
    this.#ending = this.#asked(this.#recorder.ask("end", "stopped", this.#seen(game)));
    const saved = await this.#ending;
    if (saved === undefined) return;
    this.#watcher.saved(saved);
    if (game.steps > 0) this.#watcher.say(`Stopped after ${game.steps} steps. Saved as episode ${saved.next - 1}.`);
  }

  #enter(mode: Mode): void {
    this.#mode = mode;
    this.#watcher.mode(mode);
  }

  async #begin(seed: number): Promise<void> {
    const turn = ++this.#turn;
    try {
      await this.#recorder.ask("begin", seed);
    } catch (error) {
      if (turn === this.#turn) this.#enter("idle");
      return this.#watcher.trouble(error);
    }
    if (turn !== this.#turn) return;
    const game = new Game(seed);
    this.#game = game;
    this.#thrust = [0, 0];
    this.#controls.release();
    this.#stage.show({ state: game.observation(), thrust: this.#thrust });
    this.#watcher.say(`Episode ${seed}: steer into the ring and rest there. The clock starts when you steer.`);
    this.#stage.run(() => this.#step(game));
  }

  #step(game: Game): View | undefined {
    const [x, y] = game.state as unknown as [number, number];
    const action = this.#controls.action(x, y);
    // Before the player steers, there is nothing to learn.
    if (game.steps === 0 && action[0] === 0 && action[1] === 0) return undefined;
    const observation = this.#seen(game);
    const { reward, end } = game.step(action);
    this.#recorder.step({ observation, action, reward });
    this.#camera.show(observation.image);
    this.#thrust = action;
    if (end !== undefined) void this.#finish(game, end);
    return { state: game.observation(), thrust: action };
  }

  async #finish(game: Game, end: End): Promise<void> {
    const turn = this.#turn;
    this.#stage.stop();
    this.#game = undefined;
    this.#ending = this.#asked(this.#recorder.ask("end", end, this.#seen(game)));
    const saved = await this.#ending;
    if (saved === undefined) return this.stop();
    this.#watcher.saved(saved);
    if (turn !== this.#turn) return;
    this.#watcher.say(`You ${WORDS[end]} after ${game.steps} steps. Saved as episode ${saved.next - 1}.`);
    this.#timer = setTimeout(() => this.#begin(saved.next), PAUSE_MS);
  }

  #cloneGame(seed: number, docked: number): void {
    const turn = ++this.#turn;
    const game = new Game(seed);
    let action: readonly [number, number] | undefined;
    const think = () =>
      this.#recorder.ask("act", game.observation()).then(
        (answer) => {
          action = answer;
        },
        async (error) => {
          if (turn !== this.#turn) return;
          await this.stop();
          this.#watcher.trouble(error);
        },
      );
    this.#stage.show({ state: game.observation(), thrust: [0, 0] });
    const before = seed - CLONE_SEED;
    const tally = (count: number, of: number) => `It docked in ${count} of ${of} ${of === 1 ? "game" : "games"}.`;
    this.#watcher.say(`The clone plays.${before > 0 ? ` ${tally(docked, before)}` : ""} Nothing is recorded.`);
    void think();
    this.#stage.run(() => {
      if (action === undefined) return undefined;
      const thrust = action;
      const { end } = game.step(thrust);
      action = undefined;
      if (end === undefined) void think();
      else {
        const now = docked + (end === "docked" ? 1 : 0);
        this.#stage.stop();
        this.#watcher.say(`The clone ${WORDS[end]} after ${game.steps} steps. ${tally(now, before + 1)}`);
        this.#timer = setTimeout(() => this.#cloneGame(seed + 1, now), PAUSE_MS);
      }
      const view = { state: game.observation(), thrust };
      this.#camera.show(this.#camera.take(view));
      return view;
    });
  }

  #rowOf({ rows, state, image, action }: Recording, row: number): View {
    const [wide, pixels] = [state.length / rows, CAMERA * CAMERA * 3];
    this.#camera.show(image.subarray(pixels * row, pixels * (row + 1)));
    this.#watcher.at(row);
    return { state: state.subarray(wide * row, wide * (row + 1)), thrust: row === 0 ? [0, 0] : action.subarray(2 * (row - 1), 2 * row) };
  }

  #seen(game: Game): Step["observation"] {
    return { state: game.observation(), image: this.#camera.take({ state: game.state, thrust: this.#thrust }) };
  }

  /** Returns undefined if the request was rejected, after reporting it to the watcher. */
  async #asked<T>(answer: Promise<T>): Promise<T | undefined> {
    try {
      return await answer;
    } catch (error) {
      this.#watcher.trouble(error);
      return undefined;
    }
  }
}
