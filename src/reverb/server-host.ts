/** Implements the host of the writers that a server's client accepts: actors in pages and threads write through it into the server's tables. */
import { integer, onlyKeys, ReplayError } from "../base/error.ts";
import { MAX_LENGTH } from "../base/limits.ts";
import { Publication } from "../base/publication.ts";
import type { Host, HostEngine } from "../remote/host.ts";
import { Roles } from "../schema/transition-roles.ts";
import type { ResolvedWriterOptions, WriterOptions } from "../tables/rules.ts";
import type { Fields } from "../tf-agents/writers/fields.ts";
import { LaneWriter } from "./lane-writer.ts";
import type { ServerSink } from "./server-sink.ts";
import { checkRules, StreamSteps } from "./stream-steps.ts";

/** The default value of `keep`, as in a Replay's writer. */
const DEFAULT_KEEP = 32;
/** The maximum number of lanes, since each lane has its own stream to the server. */
const MAX_LANES = 256;

export class ServerHost implements Host {
  readonly engine: HostEngine;
  readonly publication = new Publication();
  readonly journal = undefined;
  /** The names of the tables. Actors refer to a table by its index, so indices never change, even if a server later reports other tables. */
  tables: readonly string[] = [];
  readonly #fields: Fields<never>;
  readonly #sink: (keep: number) => ServerSink;
  #isClosed = false;

  /** @param sink opens a stream to a server */
  constructor(fields: Fields<never>, sink: (keep: number) => ServerSink) {
    const { spec, leaves } = fields;
    this.#fields = fields;
    this.#sink = sink;
    const isClosed = () => this.#isClosed;
    this.engine = {
      spec,
      layout: { leaves },
      roles: new Roles(leaves),
      closers: new Set(),
      get closed() {
        return isClosed();
      },
      begin() {},
    };
  }

  /** Adds tables that a server has reported, after the existing tables. */
  learn(names: Iterable<string>): void {
    const added = new Set(names);
    for (const name of this.tables) added.delete(name);
    this.tables = [...this.tables, ...[...added].sort()];
  }

  resolve(options: WriterOptions): ResolvedWriterOptions {
    const {
      name,
      keep,
      lanes = 1,
      items = [],
      across = false,
      autoreset = "disabled",
    } = onlyKeys("writer", options, "name, keep, lanes, items, across, autoreset");
    if (name !== undefined) throw unsupported("name", "A server keeps no open episode for a later run");
    if (across) throw unsupported("across", "Items on a server cannot span episodes");
    if (autoreset === "nextStep") throw unsupported('autoreset: "nextStep"', 'Pass the last observation as `final`, and autoreset: "sameStep"');
    if (integer("lanes", lanes, 1) > MAX_LANES)
      throw unsupported(`lanes > ${MAX_LANES}`, "Open several remote writers, because each lane needs its own stream");
    const longest = Array.isArray(items) ? Math.max(DEFAULT_KEEP, ...items.map((rule) => Number(rule?.length) || 1)) : DEFAULT_KEEP;
    const checked = checkRules({ keep: keep ?? Math.min(longest, MAX_LENGTH), items });
    const rules = checked.rules.map((rule) => ({ ...rule, nStep: 0, finite: false }));
    return { keep: checked.keep, lanes, items: rules, layouts: [], across, autoreset };
  }

  writer(options: WriterOptions): LaneWriter<never> {
    const resolved = this.resolve(options);
    const lanes = Array.from(
      { length: resolved.lanes },
      () => new StreamSteps(this.#fields, this.#sink(resolved.keep), resolved.keep, resolved.items as never),
    );
    return new LaneWriter(resolved, this.#fields, lanes);
  }

  mustBeFree(): void {}

  /** Returns immediately, because calls are never rejected for lack of room: their items wait for the server. */
  async waitForRoom(): Promise<void> {}

  resumeWriter(): never {
    throw new ReplayError("NOT_FOUND", "a server does not store writers. Create a new writer");
  }

  hasOrphan(): boolean {
    return false;
  }

  closeOrphan(): void {}

  /** Ends all writers, and all waits for a writer. */
  close(): void {
    this.#isClosed = true;
    for (const closer of [...this.engine.closers]) closer.close();
  }
}

function unsupported(subject: string, remedy: string): ReplayError {
  return new ReplayError("UNSUPPORTED", `${subject} is not supported with a Reverb server. ${remedy}`);
}
