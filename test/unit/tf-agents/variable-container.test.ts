/** Tests variables of a learner in tables of size 1, in this process. */
import { describe, expect, test } from "vitest";
import { f32, fifo, i64, Replay, text } from "../../../src/index.ts";
import { Column } from "../../../src/schema/column.ts";
import { LocalClient, POLICY_KEY, ReverbVariableContainer, Table, TRAIN_STEP_KEY } from "../../../src/tf-agents/index.ts";
import { expectError } from "../../support/refused.ts";

const spec = { policy_variables: [f32(2, 3), f32(3)], train_step: i64() };
const replayOf = () => new Replay({ spec, tables: { variables: { maxSize: 1 } }, seed: 1 });
const nest = (n: number) => ({ policy_variables: [Float32Array.from({ length: 6 }, (_, i) => n + i), [n, n, n]], train_step: BigInt(n) });
const refusal = (promise: Promise<unknown>): Promise<Error> =>
  promise.then(
    () => Promise.reject(new Error("it was not refused")),
    (error) => error as Error,
  );

test("pull returns the latest push as columns in the same nest", async () => {
  const replay = replayOf();
  const container = new ReverbVariableContainer(replay);
  await container.push(nest(1));
  await container.push(nest(2));
  expect(replay.table("variables").size).toBe(1);
  expect(await container.pull()).toEqual({
    policy_variables: [new Column(Float32Array.of(2, 3, 4, 5, 6, 7), [2, 3]), new Column(Float32Array.of(2, 2, 2), [3])],
    train_step: new Column(BigInt64Array.of(2n), []),
  });
  expect([TRAIN_STEP_KEY, POLICY_KEY]).toEqual(Object.keys(spec).reverse());
});

test("push copies the values, and pushes apply in the order of the calls", async () => {
  const container = new ReverbVariableContainer(replayOf());
  const values = nest(1);
  const before = [...(values.policy_variables[0] as Float32Array)];
  const pushes = [container.push(values)];
  (values.policy_variables[0] as Float32Array).fill(9);
  await pushes[0];
  expect([...(await container.pull()).policy_variables[0].data]).toEqual(before);
  pushes.push(container.push(nest(2)), container.push(values));
  await Promise.all(pushes);
  const { policy_variables } = await container.pull();
  expect([...policy_variables[0].data]).toEqual([9, 9, 9, 9, 9, 9]);
});

test("update assigns in place, and previously pulled values do not change", async () => {
  const container = new ReverbVariableContainer(replayOf());
  await container.push(nest(1));
  const before = await container.pull();
  const assigned: unknown[] = [];
  const weights = new Float32Array(6);
  const variables = {
    policy_variables: [weights, { assign: (value: Column) => assigned.push(value) }],
    train_step: new Column(BigInt64Array.of(0n), []),
  };
  await container.update(variables);
  await container.push(nest(5));
  await container.update(variables);
  expect([[...weights], variables.train_step.data[0]]).toEqual([[5, 6, 7, 8, 9, 10], 5n]);
  expect(variables.policy_variables[0]).toBe(weights);
  expect(assigned).toEqual([new Column(Float32Array.of(1, 1, 1), [3]), new Column(Float32Array.of(5, 5, 5), [3])]);
  expect([...before.policy_variables[0].data]).toEqual([1, 2, 3, 4, 5, 6]);
  weights.fill(0);
  expect([...(await container.pull()).policy_variables[0].data]).toEqual([5, 6, 7, 8, 9, 10]);
});

test("update awaits each assign call in order, and then fills arrays", async () => {
  const container = new ReverbVariableContainer(new Replay({ spec: { a: f32(1), b: f32(1), c: f32(1), d: f32(1) }, tables: { variables: { maxSize: 1 } } }));
  await container.push({ a: [1], b: [2], c: [3], d: [4] });
  const log: unknown[] = [];
  const later = (name: string) => ({
    assign: async (value: Column) => {
      await new Promise(setImmediate);
      log.push([name, value.data[0], c[0]]);
    },
  });
  const c = new Float32Array(1);
  const d = new Column(new Float32Array(1), [1]);
  await container.update({ a: later("a"), b: later("b"), c, d });
  expect([log, c[0], d.data[0]]).toEqual([
    [
      ["a", 1, 0],
      ["b", 2, 0],
    ],
    3,
    4,
  ]);
  // If an assignment fails immediately or later, earlier assignments are kept, and no others are made.
  for (const fails of [
    () => Promise.reject(new RangeError("no")),
    () => {
      throw new RangeError("no");
    },
  ]) {
    await container.push({ a: [5], b: [6], c: [7], d: [8] });
    log.length = 0;
    await expect(container.update({ c, a: later("a"), b: { assign: fails }, d: later("d") })).rejects.toThrow(new RangeError("no"));
    expect([log, c[0]]).toEqual([[["a", 5, 3]], 3]);
  }
  // Aborting ends the wait, and arrays that changed in the meantime are still checked.
  const controller = new AbortController();
  const stop = { assign: async () => controller.abort(new Error("enough")) };
  await expect(container.update({ a: stop, b: later("b"), c, d }, { signal: controller.signal })).rejects.toThrow("enough");
  const lost = { assign: async () => void structuredClone(c, { transfer: [c.buffer] }) };
  log.length = 0;
  expectError(await refusal(container.update({ a: lost, b: later("b"), c, d })), "SPEC_MISMATCH", /^variables\.c must be/);
  expect([log, d.data[0]]).toEqual([[], 4]);
});

test("variables may be text", async () => {
  const client = LocalClient.of({
    spec: { name: text({ maxBytes: 10 }), names: { ...text({ maxBytes: 10 }), shape: [2] as const } },
    tables: [{ name: "variables", maxSize: 1 }],
  });
  const container = new ReverbVariableContainer(client);
  await container.push({ name: new Column<"string">(["é"], []), names: ["a", "b"] });
  const variables = { name: new Column<"string">(["…"], []), names: new Column<"string">(["", ""], [2]) };
  await container.update(variables);
  expect([variables.name.data, variables.names.data]).toEqual([["é"], ["a", "b"]]);
});

describe("an actor that starts before the first push", () => {
  test("waits for the push", async () => {
    const container = new ReverbVariableContainer(replayOf());
    const pulls = [container.pull(), container.pull()];
    await container.push(nest(3));
    expect((await Promise.all(pulls)).map(({ train_step }) => train_step.data[0])).toEqual([3n, 3n]);
  });

  test("stops waiting after a timeout or a signal", async () => {
    const container = new ReverbVariableContainer(replayOf());
    expectError(await refusal(container.pull({ timeoutMs: 0 })), "TIMEOUT", /^timed out after 0 ms: no variables arrived from table variables$/);
    const reason = new Error("enough");
    const controller = new AbortController();
    const waits = container.update(nest(0), { signal: controller.signal });
    controller.abort(reason);
    await expect(waits).rejects.toBe(reason);
    await expect(container.pull({ signal: controller.signal })).rejects.toBe(reason);
    await container.push(nest(1));
    expect((await container.pull()).train_step.data[0]).toBe(1n);
  });

  test("draws nothing after its wait has ended", async () => {
    const client = new LocalClient(replayOf());
    const container = new ReverbVariableContainer(client);
    await refusal(container.pull({ timeoutMs: 0 }));
    await container.push(nest(1));
    expect(client.serverInfo().variables?.rateLimiterInfo.sampleStats.completed).toBe(0);
  });
});

describe("rejects", () => {
  test("tables that do not exist or do not have maxSize 1", () => {
    const replay = new Replay({ spec, tables: { variables: { maxSize: 2 }, once: { maxSize: 1 } } });
    const make = (tableNames?: readonly string[]) => () => new ReverbVariableContainer(replay, tableNames && { tableNames });
    expect(make(["nowhere"])).toThrow(/^each of tableNames must .*variables, once.*got "nowhere"$/);
    expect(make()).toThrow(/^maxSize of table variables must .*1.*got 2$/);
    expect(make(["once"])).not.toThrow();
    expect(make("once" as never)).toThrow(/tableNames must .*got "once"/);
    expect(() => new ReverbVariableContainer({} as never)).toThrow(/^client .*ReverbClient/);
    expect(() => new ReverbVariableContainer(replay, { tables: [] } as never)).toThrow("Options: tableNames");
    expect(make([])).toThrow(/^tableNames must .*at least one/);
  });

  test("a table that does not belong to the container", async () => {
    const container = new ReverbVariableContainer(new Replay({ spec, tables: { variables: { maxSize: 1 }, other: { maxSize: 1 } } }));
    for (const call of ["push", "update"] as const)
      expectError(
        await refusal(container[call](nest(1), { table: "other" })),
        "NOT_FOUND",
        /^table must be one of variables, the tables of this container, got "other"$/,
      );
    expectError(await refusal(container.pull({ table: "other" })), "NOT_FOUND");
    expectError(await refusal(container.pull({ name: "variables" } as never)), TypeError, /Options: table, signal, timeoutMs/);
  });

  test.each([
    [7, /^values must be an object with keys policy_variables, train_step, got 7$|^values must be an object/],
    [{ ...nest(1), policy_variables: [[1, 2, 3]] }, /^values\.policy_variables must be an array of 2, got an array of 1$/],
    [{ ...nest(1), extra: 1 }, /extra is not in the spec/],
    [{ policyVariables: [], train_step: 1 }, /^values must be .*values\.policy_variables is missing/],
    [{ ...nest(1), train_step: [1, 2] }, /^values\.train_step must .*i64.*\[\].*got an array of 2$/],
    [
      { ...nest(1), policy_variables: [new Float32Array(5), [1, 2, 3]] },
      /^values\.policy_variables\.0 must be f32 of shape \[2, 3\].*, got Float32Array\(5\)$/,
    ],
    [{ ...nest(1), policy_variables: [new Column(new Float32Array(6), [3, 2]), [1, 2, 3]] }, /\.0 must be .*got a column of shape \[3, 2\]$/],
    [{ ...nest(1), policy_variables: [new Float64Array(6), [1, 2, 3]] }, /^values\.policy_variables\.0 must .*f32.*\[2, 3\].*got Float64Array\(6\)$/],
    [{ ...nest(1), policy_variables: [new Column(new Float32Array(7), [2, 3]), [1, 2, 3]] }, /^values\.policy_variables\.0 must be .*got Float32Array\(7\)$/],
    [{ ...nest(1), train_step: 0.5 }, /^values\.train_step must .*i64.*got 0\.5$/],
    [{ ...nest(1), train_step: 2n ** 63n }, /^values\.train_step must .*i64.*got 9223372036854775808n$/],
    [{ ...nest(1), policy_variables: [new Float32Array(6), [1, "x", 3]] }, /^values\.policy_variables\.1 must .*f32.*got "x"$/],
    [
      {
        ...nest(1),
        policy_variables: [
          [
            [1, 2, 3],
            [4, 5],
          ],
          [1, 2, 3],
        ],
      },
      /^values\.policy_variables\.0 must .*f32.*\[2, 3\].*got an array of 2$/,
    ],
  ])("values of another structure, dtype or shape: %#", async (values, message) => {
    const replay = replayOf();
    const container = new ReverbVariableContainer(replay);
    const error = await refusal(container.push(values));
    expect(["SPEC_MISMATCH", "INVALID_DATA"]).toContain((error as { code?: string }).code);
    expect(error.message).toMatch(message);
    expect(replay.table("variables").size).toBe(0);
    // The failed push does not block the next one.
    await container.push(nest(1));
  });

  test("values that fit the signature but not the spec of the Replay", async () => {
    const tables = [
      new Table({ name: "w", maxSize: 1, signature: { w: { dtype: "f32", shape: [null, 2] } } }),
      new Table({ name: "name", maxSize: 1, signature: { name: { dtype: "string", shape: null } } }),
    ];
    const client = LocalClient.of({ spec: { w: f32(2, 2), name: text({ maxBytes: 2 }) }, tables });
    const container = new ReverbVariableContainer(client, { tableNames: ["w", "name"] });
    const message = /^values\.w must .*\[2, 2\].*table w.*\[3, 2\]$/;
    expectError(await refusal(container.push({ w: new Float32Array(6) }, { table: "w" })), "SPEC_MISMATCH", message);
    const long = /^values\.name must .* 2 bytes.*got "é1"$/;
    expectError(await refusal(container.push({ name: "é1" }, { table: "name" })), "INVALID_DATA", long);
  });

  test.each([
    [{ policy_variables: [new Float32Array(6), new Float32Array(3)], train_step: 1n }, /^variables\.train_step must .*i64.*\[\].*assign\(value\), got 1n$/],
    [{ policy_variables: [new Float32Array(6), new Float64Array(3)], train_step: new BigInt64Array(1) }, /^variables\.policy_variables\.1 must be/],
    [{ policy_variables: [new Float32Array(6), new Float32Array(4)], train_step: new BigInt64Array(1) }, /^variables\.policy_variables\.1 must be/],
    [
      { policy_variables: [new Column(new Float32Array(6), [6]), new Float32Array(3)], train_step: new BigInt64Array(1) },
      /got a column of Float32Array and shape \[6\]$/,
    ],
    [[], /^variables must be/],
  ])("variables of another structure, dtype or shape, and assigns nothing: %#", async (variables, message) => {
    const container = new ReverbVariableContainer(replayOf());
    await container.push(nest(4));
    expectError(await refusal(container.update(variables)), "SPEC_MISMATCH", message);
    const { policy_variables: [first] = [] } = variables as { policy_variables?: unknown[] };
    // The rejected update has not changed the zeros.
    if (first instanceof Float32Array) expect([...first]).toEqual([0, 0, 0, 0, 0, 0]);
  });

  test("an item that push did not create", async () => {
    const client = LocalClient.of({ spec: { x: f32() }, tables: [{ name: "variables", maxSize: 1 }] });
    const writer = client.trajectoryWriter({ numKeepAliveRefs: 2 });
    for (const x of [1, 2]) writer.append({ x });
    writer.createItem("variables", 1, { x: writer.history.x.slice(-2) });
    writer.flush();
    expectError(await refusal(new ReverbVariableContainer(client).pull()), "SPEC_MISMATCH", /^the item of table variables must .*got 2 steps$/);
  });
});

test("several tables store parts of the spec according to their signatures", async () => {
  const tables = [
    new Table({ name: "steps", maxSize: 1, sampler: fifo(), signature: { train_step: { dtype: "i64", shape: [] } } }),
    new Table({
      name: "weights",
      maxSize: 1,
      signature: {
        policy_variables: [
          { dtype: "f32", shape: [2, null] },
          { dtype: "f32", shape: null },
        ],
      },
    }),
  ];
  const container = new ReverbVariableContainer(LocalClient.of({ spec, tables }), { tableNames: ["steps", "weights"] });
  await container.push({ train_step: 4 }, { table: "steps" });
  await container.push(
    {
      policy_variables: [
        [
          [1, 2, 3],
          [4, 5, 6],
        ],
        Float32Array.of(7, 8, 9),
      ],
    },
    { table: "weights" },
  );
  expect(await container.pull({ table: "steps" })).toEqual({ train_step: new Column(BigInt64Array.of(4n), []) });
  const { policy_variables } = await container.pull({ table: "weights" });
  expect(policy_variables.map(({ data, shape }: Column) => [[...data], shape])).toEqual([
    [
      [1, 2, 3, 4, 5, 6],
      [2, 3],
    ],
    [[7, 8, 9], [3]],
  ]);
  expectError(await refusal(container.pull()), "NOT_FOUND");
});
