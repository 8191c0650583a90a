/** Answers what an inspector asks of one Replay. Changes nothing that a program could notice: its chance is its own, and of the Replay's memory it takes reserved scratch. */
import { integer, mustBe } from "../base/error.ts";
import type { Replay } from "../replay/replay.ts";
import { Chance } from "./chance.ts";
import { LookedAt, rewardOf } from "./looked.ts";
import type { About, Answer, Question, Survey } from "./survey.ts";

/** A draw shows so many items at most. */
const MOST_DRAWN = 1024;

export class Surveyor {
  readonly #replay: Replay;
  readonly #chance = new Chance();
  readonly #looked = new Map<string, LookedAt>();

  constructor(replay: Replay) {
    this.#replay = replay;
  }

  /** @throws RangeError for a wrong number · ReplayError NOT_FOUND for a table that is not there, CLOSED */
  answer(question: Question): Answer {
    switch (question.kind) {
      case "about":
        return this.#about();
      case "survey":
        return this.#survey(question.table);
      case "draw":
        return this.#lookedAt(question.table).draw(integer("n", question.n, 1, MOST_DRAWN));
      case "item":
        return this.#lookedAt(question.table).view(question.key);
      default:
        throw mustBe("UNSUPPORTED", "kind", "about, survey, draw or item", (question as { readonly kind: unknown }).kind);
    }
  }

  #about(): About {
    const { maxBytes, tables } = this.#replay.options;
    // The spec as its leaves are placed.
    const leaves = LookedAt.leavesOf(this.#replay);
    const limits = (name: string) => {
      const { maxSize, maxSteps, maxTimesSampled, sampler, remover, rateLimiter } = tables[name] as NonNullable<(typeof tables)[string]>;
      const unlimited = (n: number) => (n === Number.MAX_SAFE_INTEGER ? Number.POSITIVE_INFINITY : n);
      return { name, maxSize, maxSteps: unlimited(maxSteps), maxTimesSampled: unlimited(maxTimesSampled), sampler, remover, rateLimiter };
    };
    return { leaves, maxBytes, tables: Object.keys(tables).map(limits), reward: rewardOf(this.#replay)?.path };
  }

  #survey(name: string | undefined): Survey {
    const { steps, bytes, writers } = this.#replay.stats();
    const tables = Object.values(this.#replay.tables).map((table) => ({ ...table.stats(), canSample: table.canSample(), canInsert: table.canInsert() }));
    return { steps, bytes: bytes.used, writers, tables, table: name === undefined ? undefined : this.#lookedAt(name).survey() };
  }

  #lookedAt(name: string): LookedAt {
    const table = this.#replay.table(name);
    let looked = this.#looked.get(name);
    if (looked === undefined) {
      looked = new LookedAt(this.#replay, table, this.#chance);
      this.#looked.set(name, looked);
    }
    return looked;
  }
}
