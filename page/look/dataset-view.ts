/** Shows an opened dataset: its parts, and the navigation between them. */
import { h } from "../parts/element.ts";
import { Progress } from "../parts/progress.ts";
import { trouble } from "../parts/trouble.ts";
import type { Client } from "./client.ts";
import type { EpisodeData, Given, Opened, ReadArgument, ReadNews } from "./messages.ts";
import { EpisodeTable } from "./model/episode-table.ts";
import { addressOf } from "./ui/addresses.ts";
import { type DistributionsView, distributionsView } from "./ui/distributions.ts";
import { EpisodeList } from "./ui/episode-list.ts";
import { type ExportForm, exportForm } from "./ui/export-form.ts";
import { type FindingsView, findingsView } from "./ui/findings-view.ts";
import { Overview } from "./ui/overview.ts";
import { type Player, player } from "./ui/player.ts";

/**
 * The time in milliseconds for which an episode must be selected before it is read, because holding an arrow key down selects many episodes in quick
 * succession.
 */
const REST_MS = 120;

export class DatasetView {
  readonly element: HTMLElement;
  readonly #opened: Opened;
  readonly #client: Client;
  readonly #signal: AbortSignal;
  readonly #fail: (error: unknown) => void;
  readonly #table = new EpisodeTable();
  readonly #overview: Overview;
  readonly #list: EpisodeList;
  readonly #player: Player;
  readonly #distributions: DistributionsView;
  readonly #findings: FindingsView;
  readonly #export: ExportForm;
  /** Stops the current pass. */
  #pass: AbortController | undefined;
  /** Stops the search for an episode. */
  #look = new AbortController();
  #shown = -1;
  /** The episode in the player; -1 while an episode is being read. */
  #found = -1;

  /** @param resplit opens another split @param signal closes the view */
  constructor(opened: Opened, given: Given, client: Client, fail: (error: unknown) => void, resplit: (name: string) => void, signal: AbortSignal) {
    this.#opened = opened;
    this.#client = client;
    this.#fail = fail;
    this.#signal = signal;
    this.#table.expect(opened.episodes ?? 0);
    const flag = (episode: number) => this.#flag([episode], !this.#table.isFlagged(episode));
    this.#overview = new Overview(opened, this.#table, { readAll: () => void this.#read("all"), stop: () => this.#pass?.abort(), split: resplit });
    this.#list = new EpisodeList(this.#table, { chosen: (episode) => void this.#show(episode, 0, REST_MS), flag, entered: () => this.#player.focus() }, signal);
    this.#player = player({ flag, isFlagged: (episode) => this.#table.isFlagged(episode), addressOf: addressOf(given) }, signal);
    this.#distributions = distributionsView(this.#table, signal);
    this.#findings = findingsView(
      ({ episode, step = 0 }) => void this.#go(episode, step),
      () => this.#flag(Array.from(this.#table.order("index", false, "faulty")), true),
    );
    this.#export = exportForm(
      opened,
      this.#table,
      ({ signal: own, onNews, ...asked }) => client.export({ ...asked, without: this.#table.flaggedOnes }, own, onNews),
      signal,
    );
    this.element = h(
      "div",
      { class: "dataset-view" },
      this.#overview.element,
      h("div", { class: "pair" }, this.#list.element, this.#player.element),
      this.#distributions.element,
      h("div", { class: "pair even" }, this.#findings.element, this.#export.element),
    );
    signal.addEventListener("abort", () => {
      this.#pass?.abort();
      this.#look.abort();
    });
  }

  /** Reads a sample, or the whole dataset. Shows errors. */
  start(): Promise<void> {
    return this.#read("sample");
  }

  async #read(what: ReadArgument["what"]): Promise<void> {
    this.#pass?.abort();
    const pass = new AbortController();
    this.#pass = pass;
    this.#overview.reading();
    try {
      const { complete } = await this.#client.read({ what }, pass.signal, (news) => this.#hear(news));
      this.#overview.rested(complete, what === "sample" ? "sample" : "end");
    } catch (error) {
      if (this.#signal.aborted) return;
      this.#overview.rested(false, pass.signal.aborted ? "stopped" : "failed");
      if (!pass.signal.aborted) this.#fail(error);
    }
  }

  #hear({ episodes, lengths, bytesRead, distributions, findings }: ReadNews): void {
    if (this.#signal.aborted) return;
    if (lengths !== undefined) this.#table.expect(lengths.length, lengths);
    for (const summary of episodes) this.#table.add(summary);
    this.#list.changed();
    this.#overview.figures(bytesRead);
    if (distributions !== undefined) this.#distributions.set(distributions);
    if (findings !== undefined) this.#findings.set(findings, this.#table.read, this.#table.count);
    this.#export.changed();
    if (this.#shown < 0 && this.#table.read > 0) void this.#go(0, 0);
  }

  async #go(episode: number, step: number): Promise<void> {
    this.#list.choose(episode);
    if (episode === this.#found) this.#player.step(step);
    else await this.#show(episode, step, 0);
  }

  async #show(episode: number, step: number, rest: number): Promise<void> {
    this.#shown = episode;
    this.#found = -1;
    this.#look.abort();
    const look = new AbortController();
    this.#look = look;
    if (rest > 0) await new Promise((resolve) => setTimeout(resolve, rest));
    if (look.signal.aborted) return;
    const progress = new Progress(`Reading episode ${episode}`, () => look.abort());
    // Immediate results need no progress bar.
    const late = setTimeout(() => this.#player.show(progress.element), 150);
    try {
      const found = await this.#client.episode({ index: episode }, look.signal, ({ passed }) => progress.set(passed / Math.max(1, episode)));
      clearTimeout(late);
      if (!look.signal.aborted) this.#showFound(found, step);
    } catch (error) {
      clearTimeout(late);
      if (this.#signal.aborted || this.#look !== look) return;
      this.#player.show(look.signal.aborted ? h("p", { class: "note" }, "Stopped. Choose an episode.") : trouble(error));
    }
  }

  #showFound(found: EpisodeData, step: number): void {
    this.#found = found.index;
    this.#player.show(found, step, this.#opened.fps);
  }

  #flag(episodes: readonly number[], on: boolean): void {
    for (const episode of episodes) this.#table.flag(episode, on);
    this.#list.changed();
    this.#player.flagged();
    this.#export.changed();
  }
}
