/**
 * Checks that Replay, Table and Writer without type arguments accept every value and remain useful, and that with a spec they accept every value of that spec.
 */
import { type AnySteps, type Batch, type Column, f32, i32, type OpenReplay, Replay, shared, type Table, u8, type Writer } from "reprise";

const spec = { observation: { image: shared("frame", u8(84, 84), 4), position: f32(3) }, action: i32(), reward: f32() };
const replay = new Replay({ spec, tables: { memory: { maxSize: 100 }, other: { maxSize: 3 } } });
const opened = await Replay.open({ dir: "runs/a", spec, tables: { memory: { maxSize: 100 } } });
const again = await Replay.open({ dir: "runs/a" });

class Agent {
  replay: Replay;
  constructor(replay: Replay) {
    this.replay = replay;
  }
  learn(): number | bigint | undefined {
    const { steps } = this.replay.table("memory").sample(32);
    return steps.observation?.position?.data[0];
  }
}
export const agents = [new Agent(replay), new Agent(opened), new Agent(again), new Agent(Replay.restore(replay.snapshot()))];

function draw(table: Table): number | undefined {
  const { steps, info } = table.sample(32, { beta: 0.4 });
  const any: AnySteps = steps;
  table.updatePriorities(info.keys, info.weights);
  return any.reward?.shape[0];
}
export const drawn = [draw(replay.tables.memory), draw(replay.table("other")), draw(again.table("memory"))];

function write(writer: Writer): void {
  writer.append({ anything: 1 });
  writer.staged.reward = 1;
  writer.createItem("memory", { length: 1 });
  writer.endEpisode();
}
write(replay.writer());
write(replay.writer({ lanes: 3 }));
write(replay.writer({ lanes: Number("3") }));
write(again.writer());

function look(batch: Batch): unknown {
  return batch.steps.observation.position.data;
}
look(replay.tables.memory.sample(1));
look(replay.tables.memory.sample(1, { columns: { now: { leaf: "observation.position", at: 0 } } }));

function mean({ data }: Column<"f32">): number {
  return data.length;
}
const { position } = replay.tables.memory.sample(1).steps.observation;
export const means = [mean(position), mean(position.at(0)), mean(replay.tables.memory.sample(1).steps.reward)];
export const columns: readonly Column[] = [position, replay.tables.memory.sample(1).steps.action];
function matrix(column: Column<"f32", [number, number, number]>): number {
  return column.at(0).at(0).at(0);
}
matrix(position);
// @ts-expect-error integers
mean(replay.tables.memory.sample(1).steps.action);
// @ts-expect-error another number of dimensions
matrix(position.at(0));

export const journals: readonly OpenReplay[] = [opened, again];

type S = typeof spec;
function typed(replay: Replay<S>, table: Table<S>, writer: Writer<S>): void {
  const position: [number, number, 3] = table.sample(1).steps.observation.position.shape;
  writer.staged.reward = position.length;
  typed(replay, table, writer);
}
typed(replay, replay.tables.memory, replay.writer());
typed(opened, opened.tables.memory, opened.writer());

const strange = new Replay({ spec: { score: f32() }, tables: { memory: { maxSize: 1 } } });
// @ts-expect-error another spec
typed(strange, replay.tables.memory, replay.writer());
// @ts-expect-error another spec
typed(replay, strange.tables.memory, replay.writer());
// @ts-expect-error another spec
typed(replay, replay.tables.memory, strange.writer());
// @ts-expect-error a table is not a writer
write(replay.tables.memory);
// @ts-expect-error a writer is not a table
draw(replay.writer());
