/** Checks that tables are found only by their names, and that only existing options are accepted. */
import { f32, i32, Replay, type Table } from "reprise";

const spec = { observation: f32(4), action: i32(), reward: f32() };
const tables = { memory: { maxSize: 100 }, best: { maxSize: 10 } };
const replay = new Replay({ spec, tables });
const opened = await Replay.open({ dir: "runs/a", spec, tables });
const any = await Replay.open({ dir: "runs/a" });

export const { memory, best }: { memory: Table<typeof spec>; best: Table<typeof spec> } = replay.tables;
export const same: Table<typeof spec> = opened.tables.memory;
export const byName: { readonly [name: string]: Table } = any.tables;
export const kept: unknown = opened.journal.kept;

// @ts-expect-error no such table
replay.tables.memroy;
// @ts-expect-error no such table
replay.table("memroy");
// @ts-expect-error no such table
opened.tables.memroy;
// @ts-expect-error no such table
replay.writer({ items: [{ table: "memroy", length: 2 }] });
// @ts-expect-error tables are read, not replaced
replay.tables.memory = memory;

// @ts-expect-error no such option
new Replay({ spec, tables, maxbytes: 1 });
// @ts-expect-error no such option
new Replay({ spec, tables: { memory: { maxsize: 1 } } });
// @ts-expect-error no such option
Replay.open({ dir: "runs/a", spec, tables, durable: true });
// @ts-expect-error no directory: this is not window.open
Replay.open("runs/a", "_blank");
// @ts-expect-error no such option
replay.writer({ lane: 2 });
// @ts-expect-error no such option
memory.sample(1, { bata: 0.4 });
// @ts-expect-error no such option
memory.sampleWhenReady(1, { timeout: 5 });
// @ts-expect-error no such option
memory.dataset({ batchSize: 1, signals: [] });
// @ts-expect-error no such option
memory.batch(1, { length: 1, masks: true });
// @ts-expect-error no length
memory.batch(1, { mask: true });
// @ts-expect-error no such leaf
memory.sample(1, { columns: { now: { leaf: "state", at: 0 } } });
// @ts-expect-error no such leaf
memory.sample(1).steps.state;
// @ts-expect-error no weights without beta
memory.sample(1).info.weights.length;
