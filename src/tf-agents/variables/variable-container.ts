/** Passes variables from a learner to actors. Corresponds to `ReverbVariableContainer` of TF-Agents. */
import { described, mustBe, onlyKeys, ReplayError } from "../../base/error.ts";
import { hideFrames } from "../../base/stack-trace.ts";
import { abortable, checkWait, type WaitOptions } from "../../base/wait.ts";
import { Replay } from "../../replay/replay.ts";
import type { Column } from "../../schema/column.ts";
import { shapeOf } from "../../schema/leaf.ts";
import { map } from "../../schema/nest.ts";
import type { Spec } from "../../schema/spec.ts";
import { nestColumns, stepColumns, stepsOf } from "../sampling/sample.ts";
import type { TableInfo } from "../sampling/table-info.ts";
import type { LeafSignature, Signature } from "../signature.ts";
import type { SampleClient } from "../writers/client.ts";
import { type ClientTables, tablesOfClient } from "../writers/client-calls.ts";
import { clientOf, LocalClient } from "../writers/local-client.ts";
import { assignValues, copyValues, mustFitStep, targetsOf, type VariableValue, valuesOf } from "./values.ts";

/** The client of the variables: a client of one server, or a Replay for the tables of this process. */
// biome-ignore lint/suspicious/noExplicitAny: of any spec and tables
export type VariableClient = SampleClient | Replay<any, any>;

export interface VariableContainerOptions {
  /** The names of the tables, which must have a `maxSize` of 1. Default: `["variables"]`. */
  readonly tableNames?: readonly string[];
}

export interface VariableOptions extends WaitOptions {
  /** The name of one of the container's tables. Default: "variables". */
  readonly table?: string;
}

/** The default table of a container. */
const DEFAULT_TABLE = "variables";
/** The keys under which TF-Agents programs push their variables. */
export const TRAIN_STEP_KEY = "train_step";
export const POLICY_KEY = "policy_variables";

/** The information that a container has about a table. */
interface Known {
  readonly signature: Signature;
}

/**
 * A container that stores nests of variables in tables of size 1. A learner pushes values, and actors pull the newest values. Containers in Python can share a
 * server's tables. Tables must have a signature. In this process, the default signature is the spec of the Replay.
 */
export class ReverbVariableContainer {
  readonly #client: SampleClient;
  readonly #tables: ClientTables<Spec>;
  readonly #names: readonly string[];
  #known: Promise<ReadonlyMap<string, Known>> | undefined;
  /** The last push to each table. The next push waits for it, because the newest values must arrive last. */
  readonly #pushes = new Map<string, Promise<void>>();

  /**
   * Creates a container. Tables of this process are checked immediately. Tables of a server are checked by the first call.
   * @throws TypeError, RangeError if an argument is invalid
   * @throws ReplayError NOT_FOUND if a table does not exist
   * @throws RangeError if the `maxSize` of a table is not 1
   * @throws TypeError if a table has no signature
   * @throws ReplayError UNSUPPORTED if the client has several servers
   */
  constructor(client: VariableClient, options: VariableContainerOptions = {}) {
    hideFrames(new.target);
    const { tableNames = [DEFAULT_TABLE] } = onlyKeys("options", options, "tableNames");
    const own = client instanceof Replay ? clientOf(client) : client;
    const tables = tablesOfClient(own);
    if (tables === undefined) throw mustBe(TypeError, "client", "a Replay, a LocalClient or a ReverbClient", client);
    if (!Array.isArray(tableNames) || !tableNames.every((name) => typeof name === "string"))
      throw mustBe(TypeError, "tableNames", "an array of table names", tableNames);
    if (tableNames.length === 0) throw mustBe(RangeError, "tableNames", "an array of at least one table name", tableNames);
    const { address } = own as { readonly address?: string };
    if (address?.includes(","))
      throw new ReplayError(
        "UNSUPPORTED",
        `variables must be stored on one server, but this client has several: ${address}. Pass a ReverbClient for one server`,
      );
    this.#client = own as SampleClient;
    this.#tables = tables;
    this.#names = [...tableNames];
    if (own instanceof LocalClient) {
      const known = this.#check(own.serverInfo(), own.spec as Spec);
      this.#known = Promise.resolve(known);
    }
  }

  /**
   * Replaces the values of a table. The values are copied before the call returns. Pushes to one table arrive in the order of the calls.
   * @param values nested like the table's signature, with the same names; a leaf is a column, a typed array, a nested array or a number
   * @throws ReplayError NOT_FOUND if the container does not have the table
   * @throws ReplayError SPEC_MISMATCH if the structure, a dtype or a shape differs
   * @throws the errors of the constructor
   * @throws ReplayError TIMEOUT if the time limit ends the wait
   * @throws ReplayError IO if the server cannot be reached
   * @throws ReplayError CLOSED if the client is closed
   * @throws the signal's reason if the signal aborts
   */
  async push(values: unknown, options: VariableOptions = {}): Promise<void> {
    const { table, wait } = this.#checkOptions(options);
    const own = copyValues(values);
    const before = this.#pushes.get(table);
    const push = async (signal: AbortSignal) => {
      const { signature } = await this.#find(table, signal);
      const found = valuesOf(table, signature, own);
      const leaves = this.#tables.leavesFor(table, found);
      const stepValues: unknown[] = [];
      leaves.forEach((leaf, i) => {
        const value = found[i] as VariableValue;
        mustFitStep(table, leaf, value);
        stepValues[leaf.index] = value.value;
      });
      const stepShapes = found.map(({ leaf: { dtype }, shape }) => ({ dtype, shape }));
      const shapes = stepShapes.map(({ dtype, shape }) => ({ dtype, shape: [1, ...shape] }));
      await before;
      signal.throwIfAborted();
      await this.#tables.insert({ values: stepValues, leaves, shapes, stepShapes, priorities: [[table, 1]] }, { signal });
    };
    const pushed = within(`the variables were not pushed to table ${table}`, wait, push);
    const end = pushed.catch(() => {}).then(() => void (this.#pushes.get(table) === end && this.#pushes.delete(table)));
    this.#pushes.set(table, end);
    return await pushed;
  }

  /**
   * Returns the newest values, nested like the table's signature, as columns that the caller owns. Waits until values have been pushed.
   * @throws ReplayError NOT_FOUND if the container does not have the table
   * @throws the errors of the constructor
   * @throws ReplayError TIMEOUT if the time limit ends the wait
   * @throws ReplayError IO if the server cannot be reached
   * @throws ReplayError CLOSED if the client is closed
   * @throws the signal's reason if the signal aborts
   */
  // biome-ignore lint/suspicious/noExplicitAny: of any signature
  async pull(options: VariableOptions = {}): Promise<any> {
    const { table, wait } = this.#checkOptions(options);
    return await this.#withNewest(table, wait, (signature) => (columns) => nestColumns(table, signature, columns));
  }

  /**
   * Assigns the newest values to variables in place, so all code that uses the variables sees the new values. Waits like `pull`. Nothing is assigned before all
   * values and variables are checked. Objects are assigned first, one after the other, and the result of their `assign` is awaited; columns and typed arrays
   * follow. If an `assign` fails, or the wait ends in the meantime, the objects before it have their new values, and everything else is unchanged.
   * @param variables nested like the table's signature, with the same names; a leaf is a column or typed array of the same dtype and shape, or an object with
   * `assign(value)`
   * @throws ReplayError SPEC_MISMATCH if the structure, a dtype or a shape differs. In that case, nothing has changed
   * @throws the error of an `assign` that fails
   * @throws the errors of `pull`
   */
  async update(variables: unknown, options: VariableOptions = {}): Promise<void> {
    const { table, wait } = this.#checkOptions(options);
    await this.#withNewest(table, wait, (signature) => {
      // The variables are checked before anything is drawn.
      const targets = targetsOf(table, signature, variables);
      return (columns, signal) => assignValues(table, targets, columns, signal);
    });
  }

  /** Draws the item of a table. @param prepare is called before the draw */
  #withNewest<T>(
    table: string,
    wait: WaitOptions,
    prepare: (signature: Signature) => (columns: readonly Column[], signal: AbortSignal) => T,
  ): Promise<Awaited<T>> {
    return within(`no variables arrived from table ${table}`, wait, async (signal): Promise<Awaited<T>> => {
      const { signature } = await this.#find(table, signal);
      const use = prepare(signature);
      const sampler = this.#client.sampler(table, { maxSamples: 1, maxInFlightSamplesPerWorker: 1 });
      try {
        const item = await sampler.next({ signal });
        if (item === undefined || stepsOf(table, item, true) !== 1)
          throw mustBe("SPEC_MISMATCH", `the item of table ${table}`, "one step, as push writes it", item && described(`${stepsOf(table, item, true)} steps`));
        // If the wait has ended in the meantime, nothing is assigned.
        signal.throwIfAborted();
        return await use(stepColumns(item, 0), signal);
      } finally {
        sampler.close();
      }
    });
  }

  #checkOptions(options: VariableOptions): { readonly table: string; readonly wait: WaitOptions } {
    const { table = DEFAULT_TABLE, signal, timeoutMs } = onlyKeys("options", options, "table, signal, timeoutMs");
    if (!this.#names.includes(table)) throw mustBe("NOT_FOUND", "table", `one of ${this.#names.join(", ")}, the tables of this container`, table, this.#names);
    const wait = { ...(signal !== undefined && { signal }), ...(timeoutMs !== undefined && { timeoutMs }) };
    checkWait(wait);
    return { table, wait };
  }

  /** Returns the information about a table. Requests it from a server only once, unless the request fails. */
  async #find(table: string, signal: AbortSignal): Promise<Known> {
    if (this.#known === undefined) {
      const info = this.#client.serverInfo({ signal });
      const known = Promise.resolve(info).then((tables) => this.#check(tables, undefined));
      known.then(
        () => {
          this.#known = known;
        },
        () => {},
      );
      return (await known).get(table) as Known;
    }
    return (await this.#known).get(table) as Known;
  }

  /** Checks the container's tables, and returns their signatures. @param spec the spec of items without a signature */
  #check(tables: { readonly [name: string]: TableInfo }, spec: Spec | undefined): ReadonlyMap<string, Known> {
    const known = new Map<string, Known>();
    for (const name of this.#names) {
      if (!Object.hasOwn(tables, name))
        throw mustBe("NOT_FOUND", "each of tableNames", `one of ${Object.keys(tables).join(", ")}, the client's tables`, name, Object.keys(tables));
      const { maxSize, signature = spec && stepSignature(spec) } = tables[name] as TableInfo;
      if (maxSize !== 1) throw mustBe(RangeError, `maxSize of table ${name}`, "1, because the table stores variables", maxSize);
      if (signature === undefined) throw new TypeError(`table ${name} has no signature, which variables require. Define the table with a signature`);
      known.set(name, { signature });
    }
    return known;
  }
}

/** The signature of one step, without a time dimension. */
function stepSignature(spec: Spec): Signature {
  return map(spec, (leaf): LeafSignature => ({ dtype: leaf.dtype, shape: shapeOf(leaf) }));
}

/** Runs a call with a signal that aborts when the caller's wait ends. */
async function within<T>(what: string, wait: WaitOptions, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const ended = new AbortController();
  try {
    return await abortable(call(ended.signal), what, wait);
  } finally {
    ended.abort(new ReplayError("CLOSED", "the call that waited for this request has ended"));
  }
}
