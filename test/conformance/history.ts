/** A writer with the history that Reverb's has: steps are named by Python's indices, ours by how far back they are. */
import type { ColumnSet } from "../../src/columns.ts";
import type { Spec, Writer } from "../../src/index.ts";
import { isObject, Malformed } from "./case.ts";

/** A column of an item to be: some steps of one leaf, numbered from the writer's first step on. */
export interface Picked {
  readonly leaf: string;
  /** The leaf's own shape. */
  readonly shape: readonly number[];
  readonly first: number;
  readonly count: number;
  readonly step: number;
  readonly squeezed: boolean;
}

/** Columns by their place in the trajectory, which is their order too. */
export type Trajectory = { readonly [name: string]: Picked | Trajectory };

export class History {
  readonly writer: Writer;
  /** Whether items may span episodes. */
  readonly #across: boolean;
  readonly #spec: Spec;
  /** Steps that were appended, ever. */
  #appended = 0;

  constructor(writer: Writer, spec: Spec, across: boolean) {
    this.writer = writer;
    this.#spec = spec;
    this.#across = across;
  }

  append(step: unknown): void {
    this.writer.append(step);
    this.#appended++;
  }

  /** Steps that an index can name: those of the open episode, or all where the history lives on. */
  get length(): number {
    return this.#across ? this.#appended : this.writer.episodeSteps;
  }

  /** `["a", 0]` one step, `["a", [start, stop, step]]` a slice. */
  pick(how: unknown): Trajectory {
    if (!isObject(how)) throw new Malformed(`trajectory must be an object of columns, got ${JSON.stringify(how)}`);
    return Object.fromEntries(Object.entries(how).map(([name, column]) => [name, Array.isArray(column) ? this.#column(column) : this.pick(column)]));
  }

  /** The item of a trajectory in our words: the last `length` steps, and which of them each column shows. */
  item(trajectory: Trajectory): { readonly length: number; readonly columns: ColumnSet<Spec> } {
    const picked = flat(trajectory);
    const length = this.#appended - Math.min(...picked.map((one) => one.first));
    const start = this.#appended - length;
    const columns = picked.map(({ leaf, first, count, step, squeezed }, i) => {
      const at = first - start;
      return [`${i}`, squeezed ? { leaf, at } : { leaf, from: at, to: at + (count - 1) * step + 1, step }];
    });
    return { length, columns: Object.fromEntries(columns) };
  }

  #column(how: readonly unknown[]): Picked {
    const path = how.slice(0, -1).map(String);
    const index = how.at(-1);
    const { length } = this;
    const start = this.#appended - length;
    const { shape } = this.#leaf(path);
    const leaf = ["step", ...path].join(".");
    if (typeof index === "number") return { leaf, shape, first: start + this.#at(index, length), count: 1, step: 1, squeezed: true };
    if (!Array.isArray(index)) throw new Malformed(`index must be an integer, [start, stop, step] or {list}, got ${JSON.stringify(index)}`);
    const [from, to, step] = index.length === 1 ? [null, index[0], null] : index;
    const first = from === null || from === undefined ? 0 : this.#at(from, length);
    // Python lets a slice end anywhere.
    const end = Math.min(to === null || to === undefined ? length : to < 0 ? length + to : to, length);
    const count = Math.ceil((end - first) / (step ?? 1));
    if (count <= 0) throw new RangeError(`a column must have at least one step, got [${index}] of ${length}`);
    return { leaf, shape, first: start + first, count, step: step ?? 1, squeezed: false };
  }

  /** Behind the newest step there is none; whether an older one is still at hand is the engine's to say. */
  #at(index: number, length: number): number {
    if (index >= length) throw new RangeError(`index must be below ${length}, the steps of the history, got ${index}`);
    return index < 0 ? length + index : index;
  }

  #leaf(path: readonly string[]): { readonly shape: readonly number[] } {
    const found = path.reduce<unknown>(
      (node, key) => (isObject(node) || Array.isArray(node) ? (node as { [key: string]: unknown })[key] : undefined),
      this.#spec,
    );
    if (!isObject(found) || !Array.isArray(found.shape)) throw new Malformed(`trajectory must name a field that is appended, got ${path.join(".")}`);
    return { shape: found.shape };
  }
}

/** The columns in the order in which a sample gives them: by name. */
export function flat(trajectory: Trajectory): Picked[] {
  return Object.keys(trajectory)
    .sort()
    .flatMap((name) => {
      const node = trajectory[name] as Picked | Trajectory;
      return isPicked(node) ? [node] : flat(node);
    });
}

/** The shapes of a trajectory's columns, written as Python does. */
export function shapes(trajectory: Trajectory): unknown {
  return Object.fromEntries(
    Object.entries(trajectory).map(([name, node]) => [
      name,
      isPicked(node) ? `[${[...(node.squeezed ? [] : [node.count]), ...node.shape].join(", ")}]` : shapes(node),
    ]),
  );
}

function isPicked(node: Picked | Trajectory): node is Picked {
  return typeof node.leaf === "string";
}
