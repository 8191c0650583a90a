/** Implements a Durable Object for `workerd.test.ts`, which stores a Replay and plays worlds on its storage. */
import { DurableObject } from "cloudflare:workers";
import { i32, Replay } from "reprise";
import { Log, sqlite } from "reprise/storage";
import { playDirectory } from "../support/directory-twin.ts";
import { TestRandom } from "../support/random.ts";

const OPTIONS = { spec: { n: i32() }, tables: { t: { maxSize: 100_000 } } };

export class Keeper extends DurableObject {
  #replay;
  #directory;

  constructor(ctx, env) {
    super(ctx, env);
    this.#directory = sqlite(ctx.storage);
    ctx.blockConcurrencyWhile(async () => {
      this.#replay = await Replay.open({ dir: this.#directory, ...OPTIONS, segmentBytes: 65_536, durability: { everyMs: 20 } });
    });
  }

  /** Appends `count` numbers that continue the stored ones. Resolves with the number of stored numbers. */
  async append(count) {
    const writer = this.#replay.writer({ name: "environment", items: [{ table: "t", length: 1 }] });
    const { table } = this;
    for (let i = 0; i < count; i++) writer.append({ n: table.size });
    writer.close();
    await this.#replay.flush();
    return table.size;
  }

  /** Returns how many numbers are stored, and whether they are 0, 1, 2, … */
  async count() {
    const numbers = [];
    for (const batch of this.table.dataset({ batchSize: 64, epochs: 1 })) numbers.push(...batch.steps.n.data.subarray(0, batch.count));
    return { size: this.table.size, inOrder: numbers.sort((a, b) => a - b).every((n, i) => n === i) };
  }

  /** Plays the worlds of `directory-twin.ts`, each in a separate directory. */
  async play(seed, calls) {
    playDirectory(sqlite(this.ctx.storage, { name: `twin ${seed}` }), seed, calls);
    return `played ${calls} calls of seed ${seed}`;
  }

  /** Writes logs over many segments, some of them released. Reading must return the written data. */
  async log(seed) {
    const random = new TestRandom(seed);
    const directory = sqlite(this.ctx.storage, { name: `log ${seed}` });
    const written = [];
    for (let session = 0; session < 4; session++) {
      const log = Log.open(directory, { about: {}, durability: random.pick(["always", "manual"]), segmentBytes: 3000 });
      const seen = [];
      for (const _ of log.replay((kind, id, payload) => seen.push(`${kind} ${id} ${payload}`)));
      if (seen.join() !== written.join()) throw new Error(`seed ${seed}: ${seen.length} sections were read of ${written.length}`);
      for (let group = 0; group < 40; group++) {
        for (let section = random.below(3); section >= 0; section--) {
          const payload = Uint8Array.from({ length: random.below(random.pick([10, 300, 9000])) }, () => random.below(256));
          log.write(32 + section, group, payload);
          written.push(`${32 + section} ${group} ${payload}`);
        }
        log.commit();
      }
      log.close();
    }
    return `${written.length} sections in ${directory.list().length} files`;
  }

  /** Returns facts about the storage: the calls that it rejects, and the number of rows that an append of some bytes writes. */
  async facts() {
    const { sql } = this.ctx.storage;
    const counted = { rows: 0 };
    const storage = {
      sql: {
        exec(query, ...values) {
          const cursor = sql.exec(query, ...values);
          const rows = [...cursor];
          counted.rows += cursor.rowsWritten;
          return rows;
        },
      },
      transactionSync: (call) => this.ctx.storage.transactionSync(call),
      sync: () => this.ctx.storage.sync(),
    };
    const file = sqlite(storage, { name: "facts" }).open("f", true);
    const appends = [];
    let at = 0;
    for (const length of [100, 100, 3000, 1000, 130_000]) {
      counted.rows = 0;
      at += file.write(new Uint8Array(length), at);
      appends.push(counted.rows);
    }
    let code = "";
    try {
      storage.transactionSync(() => {
        file.write(new Uint8Array(10), at);
        throw new Error("the program's own");
      });
    } catch {
      try {
        file.write(new Uint8Array(10), at + 10);
      } catch (error) {
        code = error.code;
      }
    }
    return { appends, afterRollback: [file.size, code], isSame: sqlite(this.ctx.storage) === this.#directory };
  }

  get table() {
    return this.#replay.table("t");
  }
}

/** Calls a method of an object for a request to `/NAME/METHOD?[arguments as JSON]`. */
export default {
  async fetch(request, env) {
    const { pathname, search } = new URL(request.url);
    const [, name = "", method = ""] = pathname.split("/");
    const values = JSON.parse(decodeURIComponent(search.slice(1)) || "[]");
    try {
      return Response.json(await env.KEEPER.getByName(name)[method]?.(...values));
    } catch (error) {
      return new Response(error.stack ?? String(error), { status: 500 });
    }
  },
};
