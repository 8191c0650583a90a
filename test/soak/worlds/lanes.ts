/**
 * Computes the steps of one lane of a writer, as consecutive numbers, and the items that rules create from them, on plain arrays as the guide and options.md
 * describe.
 */
import type { PlannedRule, PlannedTable, PlannedWriter } from "./plan.ts";

/** How an episode ends with a step: with `endEpisode()`, or with a final step. */
export type End = "plain" | "truncated" | "terminated";

/** The ends of episodes, by the numbers of their last rows. */
export class Ends extends Map<number, End> {
  /** Final rows whose values were omitted, or are still due: they are zeros. */
  blank: ReadonlySet<number> = new Set();

  /** Returns a copy of the current state for later checks. */
  copy(): Ends {
    const copy = new Ends(this);
    copy.blank = this.blank;
    return copy;
  }

  isFinal(step: number): boolean {
    const end = this.get(step);
    return end === "truncated" || end === "terminated";
  }

  /** Returns whether an episode terminated with a row whose values were omitted. */
  isUnknown(step: number): boolean {
    return this.blank.has(step) && this.get(step) === "terminated";
  }

  /** Returns the value of the leaf `id` in a row. */
  idOf(step: number): number {
    return this.blank.has(step) ? 0 : step;
  }
}

/** An item that a call creates. */
export interface Made {
  readonly table: string;
  readonly first: number;
  readonly length: number;
  readonly episodes: readonly number[];
  readonly priority: number;
}

export interface Lane {
  /** The number of the next step. */
  next: number;
  /** The episode of each step in the window, oldest first. */
  readonly episodes: number[];
  /** The steps since the writer was created, and those of the open episode. */
  steps: number;
  episodeSteps: number;
  episode: number;
  /** Whether the newest step is a final step, which stays available until the next step. */
  ended: boolean;
  /** In "nextStep" mode: the next step is the final step of a truncated episode, or fills that of a terminated one. */
  awaits: "final" | "value" | undefined;
  /** Priorities passed with the first steps of transitions, by table and step. */
  readonly dues: Map<string, number>;
}

let episodes = 0;

export function newLane(next: number): Lane {
  return { next, episodes: [], steps: 0, episodeSteps: 0, episode: episodes++, ended: false, awaits: undefined, dues: new Map() };
}

/** Returns the priority passed with a block, by table and step. */
type Given = (table: string, step: number) => number | undefined;

/** One call to a writer, on copies of its lanes. If the call is rejected, nothing has changed. */
export class Call {
  readonly lanes: readonly Lane[];
  readonly made: Made[] = [];
  /** The episodes that the call ended. */
  readonly ended: number[] = [];
  readonly #ends: [number, End][] = [];
  readonly #blank: Set<number>;
  readonly #writer: PlannedWriter;
  readonly #rules: readonly (readonly [string, PlannedRule])[];
  readonly #known: Ends;
  readonly #given: Given;

  constructor(writer: PlannedWriter, ruled: readonly PlannedTable[], lanes: readonly Lane[], known: Ends, given: Given = () => undefined) {
    this.#writer = writer;
    this.#rules = ruled.map(({ name, rule }) => [name, rule as PlannedRule]);
    this.lanes = lanes.map((lane) => ({ ...lane, episodes: [...lane.episodes], dues: new Map(lane.dues) }));
    this.#known = known;
    this.#given = given;
    this.#blank = new Set(known.blank);
  }

  /** Appends a step, or the step that its lane awaits. */
  step(lane: Lane): void {
    const { awaits } = lane;
    lane.awaits = undefined;
    if (awaits === "value") {
      this.#blank.delete(lane.next - 1);
      return;
    }
    const priorities = this.#rules.flatMap(([table]) => {
      const given = this.#given(table, lane.next);
      return given === undefined ? [] : [[table, given] as const];
    });
    this.#push(lane, awaits === "final", new Map(priorities));
    if (awaits === "final") this.#finish(lane, "truncated");
  }

  /** Appends the final step of the episode. @param blank whether its values were omitted */
  final(lane: Lane, how: "truncated" | "terminated", blank = false): void {
    if (blank) this.#blank.add(lane.next);
    this.#push(lane, true);
    this.#finish(lane, how);
  }

  /**
   * Ends an episode in "nextStep" mode, whose final step comes with the next call. If the episode terminated, the values of that step do not count, so its
   * items are created immediately.
   */
  endLater(lane: Lane, how: "truncated" | "terminated"): void {
    if (how === "terminated") this.final(lane, how, true);
    lane.awaits = how === "terminated" ? "value" : "final";
  }

  /** Ends the episode with the newest step. The following observation is unknown. */
  end(lane: Lane): void {
    if (lane.episodeSteps > 0) this.#finish(lane, "plain");
    if (!this.#writer.across) lane.episodes.length = 0;
    lane.ended = false;
  }

  /** Closes the writer. With rules of `nStep`, the newest step of an open episode becomes its final step. */
  close(lane: Lane): void {
    const tails = this.#rules.some(([, { nStep }]) => nStep > 0);
    if (lane.episodeSteps > 0 && tails) {
      for (const [table, rule] of this.#rules) if (rule.nStep > 0) this.#tails(lane, table, rule, rule.nStep);
      this.#finish(lane, "truncated");
    } else if (lane.episodeSteps > 0) this.#finish(lane, "plain");
    lane.episodes.length = 0;
  }

  /** Applies the call. */
  done(lanes: Lane[]): void {
    for (const [i, lane] of this.lanes.entries()) lanes[i] = lane;
    for (const [step, end] of this.#ends) this.#known.set(step, end);
    this.#known.blank = this.#blank;
  }

  #push(lane: Lane, final: boolean, given: ReadonlyMap<string, number> = new Map()): void {
    if (lane.ended && !this.#writer.across) lane.episodes.length = 0;
    if (!final) for (const [table, priority] of given) lane.dues.set(`${table} ${lane.next}`, priority);
    lane.ended = final;
    lane.next++;
    lane.steps++;
    lane.episodeSteps++;
    lane.episodes.push(lane.episode);
    if (lane.episodes.length > this.#writer.keep) lane.episodes.shift();
    for (const [table, rule] of this.#rules) {
      if (rule.nStep === 0) this.#window(lane, table, rule, final, given.get(table));
      else if (final) this.#tails(lane, table, rule, rule.length);
      else if (lane.episodeSteps >= rule.length) this.#transition(lane, table, rule, rule.length);
    }
  }

  /** Applies a rule with `length`, which counts the steps of an episode or, if the writer is `across`, of the lane. A final step counts, but begins no item. */
  #window(lane: Lane, table: string, rule: PlannedRule, final: boolean, given: number | undefined): void {
    const steps = this.#writer.across ? lane.steps : lane.episodeSteps;
    if (steps < rule.length || (steps - rule.length) % rule.stride !== 0) return;
    const first = lane.next - rule.length;
    if ((final && rule.length === 1) || this.#isFinal(first)) return;
    this.#make(lane, table, rule.length, given ?? rule.priority);
  }

  /** Creates a transition for each step that has none yet. */
  #tails(lane: Lane, table: string, rule: PlannedRule, longest: number): void {
    for (let length = Math.min(longest, lane.episodeSteps); length > 1; length--) this.#transition(lane, table, rule, length);
  }

  /** Creates a transition. Its priority is the one passed with its first step. */
  #transition(lane: Lane, table: string, { priority }: PlannedRule, length: number): void {
    this.#make(lane, table, length, lane.dues.get(`${table} ${lane.next - length}`) ?? priority);
  }

  #make(lane: Lane, table: string, length: number, priority: number): void {
    this.made.push({ table, first: lane.next - length, length, episodes: [...new Set(lane.episodes.slice(-length))], priority });
  }

  #isFinal(step: number): boolean {
    return this.#known.isFinal(step) || this.#ends.some(([at, end]) => at === step && end !== "plain");
  }

  /** Marks the newest step as the last step of its episode. */
  #finish(lane: Lane, how: End): void {
    this.#ends.push([lane.next - 1, how]);
    this.ended.push(lane.episode);
    lane.episode = episodes++;
    lane.episodeSteps = 0;
  }
}
