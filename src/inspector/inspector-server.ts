/**
 * Answers the questions of an inspector about one Replay without affecting the program: the server has separate random numbers, and uses only reserved scratch
 * memory.
 */
import { integer, mustBe } from "../base/error.ts";
import type { Replay } from "../replay/replay.ts";
import type { About, Answer, Question, Survey } from "./protocol.ts";
import { Random } from "./random.ts";
import { rewardOf, TableView } from "./table-view.ts";

/** The maximum number of items in a preview of a draw. */
const MAX_DRAWN = 1024;

export class InspectorServer {
  readonly #replay: Replay;
  readonly #random = new Random();
  readonly #views = new Map<string, TableView>();

  constructor(replay: Replay) {
    this.#replay = replay;
  }

  /** Answers a question. @throws RangeError for an invalid number · ReplayError NOT_FOUND if the table does not exist, CLOSED if the Replay was disposed of */
  answer(question: Question): Answer {
    switch (question.kind) {
      case "about":
        return this.#about();
      case "survey":
        return this.#survey(question.table);
      case "draw":
        return this.#view(question.table).draw(integer("n", question.n, 1, MAX_DRAWN));
      case "item":
        return this.#view(question.table).view(question.key);
      default:
        throw mustBe("UNSUPPORTED", "kind", "about, survey, draw or item", (question as { readonly kind: unknown }).kind);
    }
  }

  #about(): About {
    const { maxBytes, tables } = this.#replay.options;
    // The leaves are in the order of the engine's layout.
    const leaves = TableView.leavesOf(this.#replay);
    const limits = (name: string) => {
      const { maxSize, maxSteps, maxTimesSampled, sampler, remover, rateLimiter } = tables[name] as NonNullable<(typeof tables)[string]>;
      const unlimited = (n: number) => (n === Number.MAX_SAFE_INTEGER ? Number.POSITIVE_INFINITY : n);
      return { name, maxSize, maxSteps: unlimited(maxSteps), maxTimesSampled: unlimited(maxTimesSampled), sampler, remover, rateLimiter };
    };
    return { leaves, maxBytes, tables: Object.keys(tables).map(limits), reward: rewardOf(this.#replay)?.path };
  }

  #survey(name: string | undefined): Survey {
    const { steps, bytes, packed, writers } = this.#replay.stats();
    const tables = Object.values(this.#replay.tables).map((table) => ({ ...table.stats(), canSample: table.canSample(), canInsert: table.canInsert() }));
    const packedFrames = Object.entries(packed).map(([frames, stats]) => ({ name: frames, bytes: stats.bytes, rawBytes: stats.rawBytes }));
    return { steps, bytes: bytes.used, packed: packedFrames, writers, tables, table: name === undefined ? undefined : this.#view(name).survey() };
  }

  #view(name: string): TableView {
    const table = this.#replay.table(name);
    let view = this.#views.get(name);
    if (view === undefined) {
      view = new TableView(this.#replay, table, this.#random);
      this.#views.set(name, view);
    }
    return view;
  }
}
