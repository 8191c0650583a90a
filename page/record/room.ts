/** Implements the room in which a visitor plays a game. Every step is saved during play; then a clone can learn from it, and the recording can be exported. */
import { h, section } from "../parts/element.ts";
import { bytes, count } from "../parts/figures.ts";
import { trouble } from "../parts/trouble.ts";
import { ClonePanel } from "./clone-panel.ts";
import { Controls } from "./controls.ts";
import type { Episode } from "./demonstrations.ts";
import { EpisodeList } from "./episode-list.ts";
import { ExportPanel } from "./export-panel.ts";
import type { Opened, Saved } from "./messages.ts";
import { Recorder } from "./recorder.ts";
import { ReplayBar } from "./replay-bar.ts";
import { Session } from "./session.ts";
import { Camera, Stage } from "./stage.ts";

/** Resolves when rooms that were left have released the files. A visitor who returns quickly waits for this instead of seeing an error about another tab. */
let left: Promise<unknown> = Promise.resolve();

export async function room(host: HTMLElement, signal: AbortSignal): Promise<void> {
  let saved: Saved = { episodes: [], steps: 0, bytes: 0, next: 1 };
  const alerts = h("div", { class: "alerts" });
  const told = (error: unknown) => alerts.replaceChildren(trouble(error));
  const stage = new Stage(signal);
  const camera = new Camera();
  const clone = new ClonePanel(signal, {
    train: (updates) => recorder.ask("train", updates),
    stop: () => recorder.stop(),
    play: () => start(() => session.clone()),
  });
  const exporter = new ExportPanel({ save: (format, to) => recorder.ask("export", format, to), stop: () => recorder.stop() });
  let unsaved = false;
  const recorder = new Recorder({
    saved(now) {
      if (unsaved) alerts.replaceChildren();
      unsaved = false;
      show(now);
    },
    trouble(error) {
      unsaved = true;
      told(error);
      void session.stop();
    },
    learning: (progress) => clone.learning(progress),
    exporting: (progress) => exporter.exporting(progress),
  });
  const status = h("p", { class: "status", role: "status" }, "Opening what is saved here …");
  const bar = new ReplayBar({
    seek: (row) => session.seek(row),
    resume: (row) => session.resume(row),
    pause: () => session.pause(),
    close: () => session.stop(),
  });
  const session = new Session(stage, camera, new Controls(stage.element, signal), recorder, {
    mode(mode) {
      play.textContent = mode === "play" ? "Stop" : "Play";
      halt.hidden = mode !== "clone";
      bar.element.hidden = mode !== "replay";
      stage.element.classList.toggle("playing", mode === "play");
      if (mode === "idle") status.textContent = "";
    },
    say: (text) => (status.textContent = text),
    saved: show,
    trouble: told,
    at: (row) => bar.at(row),
  });
  const play = h("button", { type: "button", class: "primary play", disabled: true, onclick: toggle }, "Play");
  const halt = h("button", { type: "button", hidden: true, onclick: () => session.stop() }, "Stop the clone");
  const list = new EpisodeList({ show: replay, use, delete: remove });
  const names = ["Episodes saved", "Steps saved", "On the disk"].map((name) => h("dt", {}, name));
  const values = names.map(() => h("dd", {}, "…"));
  const figures = h("dl", { class: "figures" }, ...names.map((name, i) => h("div", {}, name, values[i])));
  const fleeting = h("div", { class: "alerts" });

  /** Shows only data that is certainly on the disk. */
  function show(next: Saved): void {
    saved = next;
    const texts = [count(saved.episodes.length), count(saved.steps), bytes(saved.bytes)];
    for (const [i, value] of values.entries()) value.textContent = texts[i] as string;
    list.set(saved.episodes);
    clone.set(saved.episodes);
    exporter.set(saved.episodes);
  }

  /** Starts an activity in the picture, after a click. */
  async function start(begin: () => Promise<void>): Promise<void> {
    alerts.replaceChildren();
    stage.element.scrollIntoView({ block: "nearest" });
    stage.element.focus({ preventScroll: true });
    await begin().catch(told);
  }

  async function toggle(): Promise<void> {
    if (session.mode === "play") return session.stop();
    // This asks the browser not to clear the data when the disk gets full; some browsers ask the user.
    void navigator.storage?.persist?.().catch(() => {});
    await start(() => session.play(() => saved.next));
  }

  async function replay(episode: Episode): Promise<void> {
    await start(async () => {
      const recording = await recorder.ask("read", episode.id);
      bar.begin(episode, recording.rows);
      await session.replay(recording);
      status.textContent = `Episode ${episode.id}, as it was recorded.`;
    });
  }

  async function use(episode: Episode, used: boolean): Promise<void> {
    await recorder.ask("use", episode.id, used).then(show, told);
  }

  async function remove(episode: Episode): Promise<void> {
    if (!confirm(`Delete episode ${episode.id} with its ${count(episode.steps)} steps? This cannot be undone.`)) return;
    if (session.mode === "replay") await session.stop();
    await recorder.ask("delete", episode.id).then(show, told);
  }

  function ready({ cut, lasting, full, ...there }: Opened): void {
    show(there);
    play.disabled = false;
    if (full && lasting) {
      unsaved = true;
      told("There is no room left on this disk: nothing new can be saved until you make some. You can still look at what is here, and save it as a dataset");
    }
    if (!lasting) {
      const why = full ? "There is no room left on this disk" : "This browser keeps no files for pages here, as in a private window";
      fleeting.replaceChildren(trouble(`${why}: what you record is lost when the page is closed. Save it as a dataset first`));
      const texts = ["Episodes, not saved", "Steps, not saved", "In memory"];
      for (const [i, name] of names.entries()) name.textContent = texts[i] as string;
    }
    status.textContent =
      cut === undefined
        ? "Steer with the arrow keys or W A S D, with a finger or the mouse on the picture, or with a gamepad."
        : `The page was closed or crashed during episode ${cut.id}. Its ${count(cut.steps)} saved steps are in the list, marked as cut.`;
  }

  async function open(): Promise<void> {
    try {
      ready(await recorder.ask("open"));
    } catch (error) {
      status.textContent = "";
      told(error);
      if ((error as { code?: string }).code !== "CORRUPT") return;
      const anew = async () => {
        if (!confirm("Delete everything that was recorded on this page?")) return;
        await recorder.ask("reset").then(() => {
          alerts.replaceChildren();
          return open();
        }, told);
      };
      alerts.append(h("button", { type: "button", onclick: anew }, "Delete it and start again"));
    }
  }

  stage.element.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && session.mode !== "idle") void session.stop();
    else if (event.key === "Enter" && session.mode === "idle" && !play.disabled) void toggle();
  });
  const before = left;
  signal.addEventListener("abort", () => {
    left = Promise.all([left, session.stop().finally(() => recorder.leave())]);
  });

  host.append(
    h("h1", {}, "Record what you do, and let a clone learn it"),
    h(
      "p",
      { class: "lead" },
      "Steer the boat into the ring, and rest there. Each step goes into a Replay on this device as you play, with a camera picture. If the tab crashes, everything shown as saved is still there.",
    ),
    fleeting,
    alerts,
    h(
      "div",
      { class: "columns" },
      h(
        "div",
        { class: "column" },
        section("Game", stage.element, h("div", { class: "below" }, status, camera.element), h("div", { class: "row" }, play, halt), bar.element, figures),
      ),
      h("div", { class: "column" }, section("Episodes", list.element), section("Clone", clone.element), section("Save as a dataset", exporter.element)),
    ),
  );
  await before;
  if (!signal.aborted) await open();
}
