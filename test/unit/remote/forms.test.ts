/** Compares steps of every form across a port with a local writer: random specs, lanes, rules and calls. */
import { expect, test } from "vitest";
import { fifo, prioritized, Replay, type Table } from "../../../src/index.ts";
import { DTYPES, type Dtype } from "../../../src/schema/dtype.ts";
import { expectAlike } from "../../support/alike.ts";
import { TestRandom } from "../../support/random.ts";
import { scaled } from "../../support/size.ts";
import { CHANNELS, pair } from "./support.ts";

interface Form {
  readonly dtype: Dtype | "string";
  readonly shape: readonly number[];
  readonly maxBytes?: number;
}
/** Forms of the leaves by name; some leaves are nested. */
type Forms = { readonly [name: string]: Form | Forms };
type Values = { [name: string]: unknown };

const SHAPES = [[], [], [1], [3], [4], [16], [33], [2, 2], [7, 3]];
const AUTORESETS = ["nextStep", "sameStep", "disabled"] as const;
const isForm = (node: Form | Forms): node is Form => Array.isArray(node.shape);

function mapped(forms: Forms, make: (form: Form) => unknown): Values {
  return Object.fromEntries(Object.entries(forms).map(([name, node]) => [name, isForm(node) ? make(node) : mapped(node, make)]));
}

class Dice {
  readonly #random: TestRandom;

  constructor(seed: number) {
    this.#random = new TestRandom(seed);
  }

  below(sides: number): number {
    return this.#random.below(sides);
  }

  of<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }

  flags(n: number, sides: number): boolean[] {
    return Array.from({ length: n }, () => this.below(sides) === 0);
  }

  form(): Form {
    const shape = this.of(SHAPES);
    if (this.below(6) === 0) return { dtype: "string", shape: shape.slice(0, 1), maxBytes: 1 + this.below(9) };
    return { dtype: this.of(Object.keys(DTYPES) as Dtype[]), shape: this.below(60) === 0 ? [1100] : shape };
  }

  forms(): Forms {
    const forms = Object.fromEntries(Array.from({ length: 1 + this.below(4) }, (_, i) => [`l${i}`, this.form()]));
    const nest = { nest: { deep: this.form(), other: this.form() } };
    return this.below(2) === 0 ? forms : { ...forms, ...nest };
  }

  value({ dtype, shape, maxBytes = 0 }: Form, lead: readonly number[]): unknown {
    const one = () => {
      if (dtype === "string") return "abcdefghi".slice(0, this.below(maxBytes + 1));
      const { float, big, min } = DTYPES[dtype];
      if (dtype === "bool") return this.below(2);
      const n = float ? this.below(1000) / 8 : this.below(100) - (Number(min) < 0 ? 50 : 0);
      return big ? BigInt(n) : n;
    };
    const nested = ([n, ...rest]: readonly number[]): unknown => (n === undefined ? one() : Array.from({ length: n }, () => nested(rest)));
    const dims = [...lead, ...shape];
    if (dtype === "string" || dims.length === 0 || this.below(2) === 0) return nested(dims);
    const typed = new DTYPES[dtype].array(dims.reduce((product, n) => product * n, 1)) as unknown as unknown[];
    for (let i = 0; i < typed.length; i++) typed[i] = one();
    return typed;
  }

  /** Returns values for a random selection of leaves. */
  some(forms: Forms, lead: readonly number[]): Values {
    return Object.fromEntries(Object.entries(mapped(forms, (form) => this.value(form, lead))).filter(() => this.below(3) > 0));
  }
}

type Call = (writer: never) => unknown;
interface Any {
  append(...given: unknown[]): unknown;
  appendColumns(...given: unknown[]): unknown;
  createItem(...given: unknown[]): unknown;
  endEpisode(...given: unknown[]): unknown;
  readonly staged: Values;
  readonly length: number;
  readonly episodeSteps: number;
}

function filled(staged: Values, step: Values, forms: Forms): void {
  for (const [name, node] of Object.entries(forms)) {
    if (isForm(node)) staged[name] = step[name];
    else filled(staged[name] as Values, step[name] as Values, node);
  }
}

/** Returns a random call that has the same result on both writers. */
function callOf(dice: Dice, forms: Forms, lanes: number, rules: { readonly items: readonly { table: string }[]; autoreset?: string; nStep: boolean }): Call {
  const lead = lanes === 1 ? [] : [lanes];
  const step = mapped(forms, (form) => dice.value(form, lead));
  const isLate = rules.autoreset === "nextStep";
  switch (dice.of(["append", "append", "ends", "staged", "end", "item", "columns", "wrong"])) {
    case "ends": {
      if (lanes === 1) break;
      const ends = { terminated: dice.flags(lanes, 4), truncated: dice.flags(lanes, 4), ...(isLate ? {} : { final: dice.some(forms, lead) }) };
      return (w: Any) => w.append(step, ends);
    }
    case "staged":
      return (w: Any) => {
        filled(w.staged, step, forms);
        return w.append();
      };
    case "end": {
      const end = { final: dice.some(forms, []), terminated: dice.below(2) === 0, lane: dice.below(lanes) };
      const given = dice.below(4) > 0 ? end : rules.nStep ? { terminated: true, lane: end.lane } : {};
      return (w: Any) => w.endEpisode(given);
    }
    case "item": {
      const item = { length: 1 + dice.below(5), priority: dice.below(9), lane: dice.below(lanes) };
      return (w: Any) => w.createItem("b", item);
    }
    case "columns": {
      const rows = (1 + dice.below(12)) * lanes;
      const columns = mapped(forms, (form) => dice.value(form, lanes === 1 ? [rows] : [rows / lanes, lanes]));
      const [terminated, truncated] = [dice.flags(rows, 9), dice.flags(rows, 9)];
      const ended = terminated.filter((flag, i) => flag || truncated[i]).length;
      const final = ended > 0 && !isLate ? { final: dice.some(forms, [ended]) } : {};
      const ends = dice.below(3) === 0 ? {} : { terminated, truncated, ...final };
      const odd = [Number.NaN, -1, Number.POSITIVE_INFINITY];
      const priority = () => (dice.below(60) === 0 ? dice.of(odd) : dice.below(9));
      const priorities = Object.fromEntries(rules.items.slice(0, dice.below(2)).map(({ table }) => [table, Array.from({ length: rows }, priority)]));
      return (w: Any) => w.appendColumns(columns, { ...ends, priorities });
    }
    case "wrong": {
      const name = dice.of(Object.keys(forms));
      const renamed = Object.fromEntries(Object.entries(step).map(([key, value]) => [key === name ? `${key}x` : key, value]));
      const wrong = dice.of([{ ...step, extra: 1 }, renamed, { ...step, [name]: Symbol.iterator }, { ...step, [name]: 1n << 70n }, null, 3]);
      return (w: Any) => w.append(wrong);
    }
  }
  return (w: Any) => w.append(step);
}

/** Returns a call's result or error as text. */
async function answerOf(call: () => unknown): Promise<string> {
  try {
    await call();
    return "taken";
  } catch (error) {
    return `${(error as Error).constructor.name}: ${(error as Error).message}`;
  }
}

const contents = ({ tables }: { readonly tables: object }) =>
  (Object.values(tables) as Table[]).map((table) => {
    if (table.size === 0) return { stats: table.stats() };
    const { steps, info, mask } = table.sample(table.size, { replacement: false, mask: true });
    return { stats: table.stats(), steps, info, mask };
  });

const WORLDS = [...Array(scaled(40, 3)).keys()].flatMap((seed) => CHANNELS.map((channel) => [channel, seed] as const));

test.each(WORLDS)("random specs and calls over a %s produce the same items as a local writer (seed %i)", async (channel, seed) => {
  const dice = new Dice(seed + 1000);
  const nStep = dice.below(2) === 0;
  const transition = { observation: dice.form(), action: { dtype: "i32", shape: [] }, reward: { dtype: dice.of(["f32", "f64"]), shape: [] } } as Forms;
  const forms: Forms = { ...dice.forms(), ...(nStep ? transition : {}) };
  const lanes = dice.of([1, 1, 2, 3]);
  const windows = { table: "b", length: 1 + dice.below(4), stride: 1 + dice.below(2), priority: 2 };
  const items = [...(nStep ? [{ table: "a", nStep: 1 + dice.below(4) }] : []), ...(dice.below(2) === 0 ? [windows] : [])];
  const rules = { items, keep: 6 + dice.below(10), ...(lanes > 1 ? { autoreset: dice.of(AUTORESETS) } : {}) };
  const tables = { a: { maxSize: 30 + dice.below(200), sampler: prioritized(0.6) }, b: { maxSize: 50, sampler: fifo() } };
  const options = { spec: forms, tables, seed, logger: null } as never as ConstructorParameters<typeof Replay>[0];
  const { replay, writer } = await pair(options as never, { ...rules, maxInFlight: 1 + dice.below(60) } as object, { lanes }, channel);
  const home = new Replay(options);
  const own = home.writer({ ...rules, lanes } as object);
  const writers = [own, writer] as never as readonly [Any, Any];
  for (let k = 0; k < 120; k++) {
    const call = callOf(dice, forms, lanes, { ...rules, nStep });
    const [here, there] = [await answerOf(() => call(writers[0] as never)), await answerOf(() => call(writers[1] as never))];
    expect(there).toBe(here);
    expect([writers[1].length, writers[1].episodeSteps]).toEqual([writers[0].length, writers[0].episodeSteps]);
  }
  await writer.flush();
  expectAlike(contents(replay), contents(home));
  await writer.close();
  own.close();
  expectAlike(contents(replay), contents(home));
});
