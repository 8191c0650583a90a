/**
 * Implements the element `<replay-inspector>`, which shows a Replay in this page (`replay`), or at the other end of a port (`port`). Each frame
 * requests at most one survey or draws at most one plot, so the work per frame does not depend on the size of the Replay. Without a page, as in Node or a
 * worker, the class is empty.
 */
import { mustBe, type ReplayError } from "../base/error.ts";
import { isPort, type PortLike } from "../remote/channels/port.ts";
import type { Replay } from "../replay/replay.ts";
import { button, make, setText } from "./dom.ts";
import { Model } from "./model.ts";
import { FillPanel, LimiterPanel } from "./panels/counters.ts";
import { DrawPanel } from "./panels/draw.ts";
import { ItemPanel } from "./panels/item.ts";
import { type PlotPanel, plotPanels } from "./panels/plots.ts";
import { Pausable } from "./pausable.ts";
import type { About, Answers, Command, ItemView, Kind, Questions, Survey, TableAbout, TableCounts } from "./protocol.ts";
import { localSource, portSource, type Source } from "./source.ts";
import { styleSheet } from "./theme.ts";

/** The minimum time between two surveys, in milliseconds. */
const SURVEY_INTERVAL_MS = 100;
/** The time in milliseconds for which a paused view continues to refresh, so that it shows the effect of a command. */
const COMMAND_MS = 1000;
/** The time for which the status shows an error, in milliseconds. */
const ERROR_MS = 5000;

const Base = (globalThis as { HTMLElement?: typeof HTMLElement }).HTMLElement ?? (class {} as typeof HTMLElement);

export class InspectorElement extends Base {
  readonly #model = new Model();
  readonly #pausable = new Pausable();
  readonly #title = make("h2", {}, "Replay");
  readonly #tables = make("select", { "aria-label": "Table" });
  readonly #pause: HTMLButtonElement;
  readonly #step: HTMLButtonElement;
  readonly #status = make("p", { class: "status", role: "status" }, "No Replay yet.");
  readonly #fill = new FillPanel();
  readonly #limiter = new LimiterPanel();
  readonly #plots = plotPanels();
  readonly #draw: DrawPanel;
  readonly #item = new ItemPanel();
  readonly #body: HTMLElement;
  #replay: Replay | null = null;
  #port: PortLike | null = null;
  #source: Source | undefined;
  #about: About | undefined;
  #table: string | undefined;
  #paused = false;
  /** The time, as of `performance.now()`, until which the view refreshes although the inspector is paused. */
  #refreshUntil = 0;
  /** Whether one more survey is needed. If frames are late, the refresh time may end before the next survey. */
  #needsSurvey = false;
  #isWaiting = false;
  /** Whether the other end has stopped answering, so that the view is frozen. */
  #isDisconnected = false;
  /** The time, as of `performance.now()`, until which the status shows an error; 0 if it shows no error. */
  #errorUntil = 0;
  #lastSurvey = 0;
  /** The index of the next plot to draw; the number of plots if all are drawn. */
  #nextPlot = 0;
  #frame = 0;
  /** Changes with the source, so that answers from an older source are ignored. */
  #generation = 0;

  constructor() {
    super();
    const root = this.attachShadow({ mode: "open" });
    root.adoptedStyleSheets = [styleSheet()];
    this.#pause = button("Pause", () => (this.#paused ? this.resume() : this.pause()), { "aria-pressed": "false" });
    this.#step = button("Step", () => this.step());
    this.#draw = new DrawPanel(
      (n) => this.#requestDraw(n),
      (key) => this.show(key),
      (item) => this.#show(item),
    );
    this.#tables.addEventListener("change", () => {
      this.table = this.#tables.value;
    });
    const plots = this.#plots.map(({ plot }) => plot.root);
    const grid = make("div", { class: "grid" }, this.#fill.root, this.#limiter.root, ...plots, this.#draw.root, this.#item.root);
    this.#body = grid;
    const bar = make("div", { class: "bar" }, this.#title, this.#tables, this.#pause, this.#step, this.#status);
    root.append(make("div", { class: "root", role: "region", "aria-label": "Replay inspector" }, bar, grid));
    this.#enable();
  }

  get replay(): Replay | null {
    return this.#replay;
  }

  set replay(replay: Replay | null) {
    if (replay !== null && typeof (replay as Partial<Replay> | undefined)?.stats !== "function") throw mustBe(TypeError, "replay", "a Replay, or null", replay);
    this.#replay = replay;
    this.#port = null;
    this.#connect();
  }

  get port(): PortLike | null {
    return this.#port;
  }

  set port(port: PortLike | null) {
    if (port !== null && !isPort(port)) throw mustBe(TypeError, "port", "a MessagePort, a Worker, or null", port);
    this.#port = port;
    this.#replay = null;
    this.#connect();
  }

  get table(): string | undefined {
    return this.#table;
  }

  set table(name: string | undefined) {
    this.#table = name;
    if (this.#about === undefined) return;
    if (!this.#about.tables.some((table) => table.name === name)) this.#table = this.#about.tables[0]?.name;
    this.#tables.value = this.#table ?? "";
    this.#model.clear();
    this.#draw.clear();
    this.#item.close();
    this.#item.root.hidden = true;
    this.#keepRefreshing();
  }

  get paused(): boolean {
    return this.#paused;
  }

  turn({ signal }: { readonly signal?: AbortSignal } = {}): Promise<void> | undefined {
    return this.#pausable.turn(signal);
  }

  pause(): void {
    if (this.#paused) return;
    this.#paused = true;
    // The view must show the state at the time of the pause.
    this.#keepRefreshing();
    this.#command("pause");
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#command("resume");
  }

  step(): void {
    if (!this.#paused) this.pause();
    this.#command("step");
    this.#keepRefreshing();
  }

  show(key: number): void {
    const table = this.#table;
    if (table === undefined) return;
    this.#request({ kind: "item", table, key }, (item) => this.#show(item));
  }

  #show(item: ItemView): void {
    const about = this.#tableAbout;
    if (about === undefined) return;
    this.#item.show(item, about, this.#counts?.size ?? 0);
    this.#item.focus();
  }

  connectedCallback(): void {
    if (this.#source === undefined) this.#connect();
    this.#frame = requestAnimationFrame(() => this.#onFrame());
  }

  disconnectedCallback(): void {
    cancelAnimationFrame(this.#frame);
    this.#disconnect();
  }

  /** Connects to the current `replay` or `port`. */
  #connect(): void {
    this.#disconnect();
    if (!this.isConnected) return;
    const generation = this.#generation;
    const port = this.#port;
    if (port !== null) {
      this.#source = portSource(
        port,
        () => generation === this.#generation && this.#requestAbout(),
        () => generation === this.#generation && this.#end("The program no longer shows its Replay."),
      );
      this.#requestAbout();
    } else if (this.#replay !== null) {
      localSource(this.#replay, this.#pausable).then(
        (source) => {
          if (generation !== this.#generation) return source.close();
          this.#source = source;
          this.#requestAbout();
        },
        (error) => this.#showError(error.message),
      );
    }
    this.#showStatus(port === null && this.#replay === null ? "No Replay yet." : "Waiting for the Replay.");
  }

  #disconnect(): void {
    this.#generation++;
    this.#source?.close();
    this.#source = undefined;
    this.#about = undefined;
    this.#paused = false;
    this.#isWaiting = false;
    this.#isDisconnected = false;
    this.#model.clear();
    this.#draw.clear();
    this.#item.close();
    this.#item.root.hidden = true;
    for (const { plot } of this.#plots) plot.close();
    this.#enable();
  }

  #requestAbout(): void {
    this.#request({ kind: "about" }, (about) => {
      this.#about = about;
      this.#isDisconnected = false;
      this.#tables.replaceChildren(...about.tables.map(({ name }) => make("option", { value: name }, name)));
      this.#tables.hidden = about.tables.length < 2;
      this.table = this.#table;
      setText(this.#title, about.tables.length === 1 ? `Replay: ${about.tables[0]?.name}` : "Replay");
      if (this.#paused) this.#source?.command("pause");
      this.#showState();
      this.#enable();
    });
  }

  #requestDraw(n: number): void {
    const table = this.#table;
    if (table !== undefined) this.#request({ kind: "draw", table, n }, (preview) => this.#draw.show(preview));
  }

  /** Sends a question to the source. Ignores the answer if the source has been replaced in the meantime. Shows an error in the status. */
  #request<K extends Kind>(question: Questions[K] & { readonly kind: K }, onAnswer: (answer: Answers[K]) => void): void {
    const generation = this.#generation;
    this.#source?.ask<K>(
      question,
      (answer) => generation === this.#generation && onAnswer(answer),
      (error) => {
        if (generation !== this.#generation) return;
        this.#isWaiting = false;
        if ((error as Partial<ReplayError>).code === "CLOSED") this.#end("The Replay was disposed.");
        else this.#showError(error.message);
      },
    );
  }

  /** Stops the surveys, disables the controls, and shows the text in the status. The current view stays visible. */
  #end(text: string): void {
    this.#isDisconnected = true;
    this.#showStatus(text);
    this.#enable();
  }

  #command(command: Command): void {
    this.#source?.command(command);
    this.#showState();
    this.#enable();
    this.dispatchEvent(new Event(command));
  }

  #onFrame(): void {
    this.#frame = requestAnimationFrame(() => this.#onFrame());
    if (this.#about === undefined) return;
    const now = performance.now();
    if (this.#errorUntil !== 0 && now > this.#errorUntil) this.#showState();
    if (this.#nextPlot < this.#plots.length) this.#drawNextPlot();
    else if (
      !this.#isWaiting &&
      !this.#isDisconnected &&
      now - this.#lastSurvey >= SURVEY_INTERVAL_MS &&
      (!this.#paused || this.#needsSurvey || now < this.#refreshUntil)
    )
      this.#requestSurvey();
  }

  /** Keeps refreshing while paused, to show the effect of a command. */
  #keepRefreshing(): void {
    this.#refreshUntil = performance.now() + COMMAND_MS;
    this.#needsSurvey = true;
  }

  #requestSurvey(): void {
    this.#lastSurvey = performance.now();
    this.#isWaiting = true;
    this.#needsSurvey = false;
    this.#request({ kind: "survey", table: this.#table }, (survey) => {
      this.#isWaiting = false;
      this.#showSurvey(survey);
    });
  }

  #showSurvey(survey: Survey): void {
    this.#model.take(survey);
    const about = this.#tableAbout;
    const counts = this.#counts;
    this.#fill.show(this.#about as About, survey, about, counts);
    this.#limiter.root.hidden = about === undefined;
    if (about !== undefined && counts !== undefined) this.#limiter.show(about, counts);
    this.#nextPlot = 0;
  }

  /** Draws one plot per frame, because all plots together would take longer than a frame. */
  #drawNextPlot(): void {
    const panel = this.#plots[this.#nextPlot++] as PlotPanel;
    panel.draw(this.#model);
    panel.plot.root.hidden = !panel.has(this.#model);
    panel.plot.fit();
    if (this.#nextPlot === this.#plots.length) this.#item.fit();
  }

  get #tableAbout(): TableAbout | undefined {
    return this.#about?.tables.find(({ name }) => name === this.#table);
  }

  get #counts(): TableCounts | undefined {
    return this.#model.survey?.tables.find(({ name }) => name === this.#table);
  }

  #showStatus(text: string): void {
    setText(this.#status, text);
    this.#status.classList.remove("wrong");
    this.#errorUntil = 0;
  }

  #showState(): void {
    this.#showStatus(this.#paused ? "Paused." : "Watching.");
  }

  #showError(text: string): void {
    setText(this.#status, text);
    this.#status.classList.add("wrong");
    this.#errorUntil = performance.now() + ERROR_MS;
  }

  /** Enables the controls that apply now. */
  #enable(): void {
    this.#body.hidden = this.#about === undefined;
    const isAnswering = this.#about !== undefined && !this.#isDisconnected;
    this.#pause.disabled = !isAnswering;
    this.#step.disabled = !isAnswering;
    this.#draw.enable(isAnswering);
    setText(this.#pause, this.#paused ? "Resume" : "Pause");
    this.#pause.setAttribute("aria-pressed", String(this.#paused));
  }
}
