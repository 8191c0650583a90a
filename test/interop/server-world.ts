/** Runs the tables of a case on a real server, with our client. */

import { ReverbClient } from "../../src/reverb/index.ts";
import type { Client, TableInfo } from "../../src/tf-agents/index.ts";
import type { TableArgs, TableCase } from "../conformance/case.ts";
import { nestedColumn } from "../conformance/nested.ts";
import { type Sampled, TableWorld } from "../conformance/world.ts";
import type { DeclaredServer, DeclaredServers } from "./declared.ts";

/** The limit in milliseconds for results that must arrive, even on a busy machine. For results that never arrive, the wait is short. */
const COMES_MS = 20_000;
const NEVER_MS = 200;

export class ServerWorld extends TableWorld {
  client: Client;
  waitMs = COMES_MS;
  readonly #server: DeclaredServer;
  #isRestarted = false;

  private constructor(test: TableCase, server: DeclaredServer) {
    super(test);
    this.#server = server;
    this.client = this.#connected();
  }

  /** @throws Refused */
  static async of(test: TableCase, servers: DeclaredServers): Promise<ServerWorld> {
    return new ServerWorld(test, await servers.start(test.tables));
  }

  #connected(): Client {
    return new ReverbClient(this.#server.address, { spec: this.spec }) as unknown as Client;
  }

  /** Sets whether the next op waits for a result that never arrives. */
  set waitsInVain(vain: boolean) {
    this.waitMs = vain ? NEVER_MS : COMES_MS;
  }

  async canInsert(table: string, n: number): Promise<boolean> {
    if (!this.#isRestarted) return this.#server.can("insert", table, n);
    const { size, inserts, samples, minSize, spi, maxDiff } = await this.#limiter(table);
    return size + n <= minSize || (inserts + n) * spi - samples <= maxDiff;
  }

  async canSample(table: string, n: number): Promise<boolean> {
    if (!this.#isRestarted) return this.#server.can("sample", table, n);
    const { size, inserts, samples, minSize, spi, minDiff } = await this.#limiter(table);
    return size >= minSize && inserts * spi - samples - n >= minDiff;
  }

  /** Tables restored from a checkpoint are not among the declared tables, so Python cannot check them. The formula of the limiter is used instead. */
  async #limiter(table: string) {
    const { currentSize: size, rateLimiterInfo: limiter } = (await this.client.serverInfo())[table] as TableInfo;
    const { minSizeToSample: minSize, samplesPerInsert: spi, minDiff, maxDiff, insertStats, sampleStats } = limiter;
    return { size, inserts: insertStats.completed, samples: sampleStats.completed, minSize, spi, minDiff, maxDiff };
  }

  async sample(table: string): Promise<Sampled | undefined> {
    return (await this.canSample(table, 1)) ? (await this.sampleMany(table, 1))[0] : undefined;
  }

  async sampleMany(table: string, n: number): Promise<Sampled[]> {
    if (n === 0) return [];
    const sampler = this.client.sampler(table, { maxSamples: n, rateLimiterTimeoutMs: this.waitMs });
    const samples: Sampled[] = [];
    try {
      for (let item = await sampler.next(); item !== undefined; item = await sampler.next()) {
        const { key, probability, tableSize, priority, timesSampled } = item.info;
        const columns = item.columns.map(({ column }) => nestedColumn(column));
        samples.push(this.told(table, columns, key, { probability, table_size: tableSize, priority, times_sampled: timesSampled }));
      }
    } finally {
      sampler.close();
    }
    return samples;
  }

  /** The promise of the first item in a table reports errors of that table. */
  async sent(waits: Promise<void> | undefined): Promise<void> {
    await waits;
  }

  /** @throws Refused if the checkpoint has other tables */
  async restart(tables: readonly TableArgs[] = this.test.tables): Promise<void> {
    this.#close();
    await this.#server.restart(tables);
    this.#isRestarted = true;
    this.client = this.#connected();
  }

  async end(): Promise<void> {
    this.#close();
    await this.#server.stop();
  }

  #close(): void {
    (this.client as unknown as ReverbClient).close();
    this.writers.clear();
  }
}
