/** Creates files of operations for benchmarks, on a table of 100,000 items. `npm run bench:embed` plays them in every host. */
import { TestRandom } from "../support/random.ts";
import { Embed } from "./host.ts";
import { append, CLOCK, fileOf, type Operation, operationOf } from "./operation.ts";
import { bytesIn } from "./values.ts";

const SIZE = 100_000;
const BLOCK = 4096;
/** The number of blocks that fill the table. A block is the BLOCK steps that one call appends. */
const FULL = Math.ceil(SIZE / BLOCK);
const text = (sampler: string, weights: string) => `leaf observation f32 4
leaf action i32
leaf reward f32
leaf done bool
table memory size ${SIZE} sampler ${sampler}
rule memory nStep 1
role terminated done
view memory transitions gamma 0.99${weights}
seed 7`;

const UNIFORM = text("uniform", "");
const PRIORITIZED = text("prioritized 0.6", " weights batch");

function stepOf(random: TestRandom): Map<string, Uint8Array> {
  return new Map<string, Uint8Array>([
    ["observation", bytesIn(Float32Array.from({ length: 4 }, () => random.next()))],
    ["action", bytesIn(Int32Array.of(random.below(4)))],
    ["reward", bytesIn(Float32Array.of(random.next()))],
    ["done", Uint8Array.of(random.below(2))],
  ]);
}

/** A Replay with a filled table, and all operations on it so far. */
class Filled {
  readonly embed: Embed;
  readonly text: string;
  readonly operations: Operation[] = [];
  /** BLOCK packed steps, which are appended repeatedly. */
  readonly #packed: Uint8Array;

  constructor(text: string) {
    this.text = text;
    this.embed = new Embed().create(text);
    const random = new TestRandom(1);
    this.#packed = this.embed.pack(Array.from({ length: BLOCK }, () => stepOf(random)));
    for (let i = 0; i < FULL; i++) this.play(this.append(0, BLOCK));
    this.operations.push(CLOCK);
  }

  /** Appends n steps of the block, starting at `from`. */
  append(from: number, n: number): Operation {
    const each = this.#packed.length / BLOCK;
    return append(0, this.#packed.subarray(from * each, (from + n) * each), n);
  }

  play(operation: Operation): void {
    this.operations.push(operation);
    this.embed.play(operation);
  }

  get file(): Uint8Array {
    return fileOf(this.text, this.operations);
  }
}

/** Returns the file that appends `steps` steps, `block` steps per call. */
function appends(steps: number, block: number): Uint8Array {
  const filled = new Filled(UNIFORM);
  for (let i = 0; i < steps; i += block) filled.play(filled.append(i % BLOCK, block));
  return filled.file;
}

function samples(batches: number, n: number): Uint8Array {
  const filled = new Filled(UNIFORM);
  for (let i = 0; i < batches; i++) filled.play(operationOf({ call: "sample", view: 0, n, beta: 0 }));
  return filled.file;
}

/** Returns the file that draws prioritized batches and updates the priorities of their items. */
function cycles(count: number, n: number): Uint8Array {
  const random = new TestRandom(2);
  const filled = new Filled(PRIORITIZED);
  for (let i = 0; i < count; i++) {
    filled.play(operationOf({ call: "sample", view: 0, n, beta: 0.4 }));
    const { columns, entries } = filled.embed.columns(0);
    const { at = 0 } = columns.find(({ name }) => name === "keys") ?? {};
    const keys = new Float64Array(filled.embed.x.memory.buffer, at, entries).slice();
    filled.play(operationOf({ call: "update", table: 0, keys, priorities: keys.map(() => random.next()) }));
  }
  return filled.file;
}

/** The timed files by name. */
export const TIMED: { readonly [name: string]: () => Uint8Array } = {
  append: () => appends(64 * BLOCK, BLOCK),
  step: () => appends(SIZE, 1),
  uniform: () => samples(4000, 256),
  uniform4096: () => samples(250, 4096),
  cycle: () => cycles(1500, 256),
};
