/** Tests that the errors of typical first mistakes name the argument, the rule, the value and the remedy. */
import { afterEach, expect, test, vi } from "vitest";
import { openError } from "../../src/datasets/formats/sources/node-source.ts";
import { withIoErrors } from "../../src/files/io-errors.ts";
import { f32, i32, prioritized, Replay, u8 } from "../../src/index.ts";
import { memory } from "../../src/storage/index.ts";
import { errorOf, expectError } from "../support/refused.ts";

const spec = { observation: f32(4), action: i32(), reward: f32() };
const step = { observation: [1, 2, 3, 4], action: 1, reward: 1 };
const tables = { t: { maxSize: 100, sampler: prioritized(0.6) } };

function filled() {
  const replay = new Replay({ spec, tables, logger: null });
  const writer = replay.writer({ items: [{ table: "t", length: 2 }] });
  for (let i = 0; i < 10; i++) writer.append(step);
  return { replay, writer, table: replay.tables.t };
}

afterEach(() => {
  vi.restoreAllMocks();
  vi.resetModules();
});

const { reward: _, ...lacking } = step;
test.each<[string, unknown, RegExp]>([
  ["a missing field", lacking, /^step must be an object with reward \(step\.reward is missing\), got an object with keys observation, action$/],
  ["an extra field", { ...step, done: true }, /^step must be an object without done \(step\.done is not in the spec\), got/],
  [
    "a misspelt field",
    { ...lacking, rewrd: 1 },
    /^step must be an object with reward and without rewrd \(step\.reward is missing, step\.rewrd is not in the spec\), got .*\. Did you mean "reward"\?$/,
  ],
  ["no object", null, /^step must be an object with keys action, observation, reward, got null$/],
  ["a bigint for a number", { ...step, action: 1n }, /^action must be i32, .*, got 1n$/],
])("the error of append names %s", (_what, wrong, says) => {
  const { replay, writer } = filled();
  expectError(
    errorOf(() => writer.append(wrong as never)),
    "SPEC_MISMATCH",
    says,
  );
  expect(replay.tables.t.size).toBe(9);
});

test("an error names a nested field with its path, even if a sibling is misspelt", () => {
  const writer = new Replay({ spec: { o: { image: u8(2), speed: f32() } } }).writer();
  expect(errorOf(() => writer.append({ o: { image: [1, 2] } } as never)).message).toMatch(/^o must be an object with speed \(o\.speed is missing\)/);
  expect(errorOf(() => writer.append({ o: { image: [1, 2], sped: 1 } } as never)).message).toMatch(
    /o\.speed is missing, o\.sped is not in the spec\), got .*\. Did you mean "speed"\?$/,
  );
});

test.each<[string, unknown, RegExp]>([
  ["without options", undefined, /^the options of Replay are required: an object with spec/],
  ["without a spec", { tables }, /^spec is required: the leaves of a step, such as \{ observation: f32\(4\)/],
  ["with null as a spec", { spec: null }, /^spec must .*f32\(4\).*got null$/],
  ["with f32 for f32()", { spec: { a: f32 } }, /^spec of a must be .* got a function\. Call the function: f32\(\) instead of f32$/],
  ["with f32([2, 3])", { spec: { a: f32([2, 3] as never) } }, /^shape of a must be integers, one argument each: f32\(2, 3\)/],
  ["with tables in a list", { spec, tables: [{ maxSize: 1 }] }, /^tables must/],
  ["with bytes as a module", { spec, module: new Uint8Array(8) }, /^module must be a WebAssembly\.Module, .*, got Uint8Array\(8\)$/],
])("new Replay %s throws an error with the cause", (_what, options, says) => {
  expectError(
    errorOf(() => new Replay(options as never)),
    TypeError,
    says,
  );
});

test("an error names the default if maxBytes is omitted and too small, and suggests a remedy", () => {
  const big = { spec: u8(84, 84, 4), tables: { t: { maxSize: 1_000_000 } } };
  const says = /^maxBytes \(4 GiB by default\) must be at least \d+ for the tables and 1000000 steps of \d+ bytes, .*at most 4 GiB\. Lower maxSize or maxSteps/;
  expectError(
    errorOf(() => new Replay(big)),
    RangeError,
    says,
  );
  expect(errorOf(() => new Replay({ spec, tables, maxBytes: 1000 })).message).toMatch(
    /^maxBytes must be at least \d+ .*, got 1000\. Increase maxBytes, or lower maxSize or maxSteps$/,
  );
});

test.each<[string, unknown[]]>([
  ["is required:", ["t"]],
  ["must be", ["t", 2]],
  ["must be", ["t", null]],
])("createItem names its second argument if it is missing or not an object: %s", (rule, wrong) => {
  const { writer } = filled();
  const says = new RegExp(`^the second argument of createItem ${rule} an object with keys length`);
  expectError(
    errorOf(() => (writer.createItem as (...given: unknown[]) => unknown)(...wrong)),
    TypeError,
    says,
  );
});

test("a rule without length, nStep or sequence lists the options", () => {
  const { replay } = filled();
  expect(errorOf(() => replay.writer({ items: [{ table: "t" } as never] })).message).toMatch(/^items\[0\] must .*length.*nStep.*sequence/);
});

const lost = undefined as never;
test.each<[string, object | undefined]>([
  ["nothing", undefined],
  ["an observation that is undefined", { observation: lost }],
  ["no leaf", {}],
])("a truncated episode without a final observation is rejected: final with %s", (_what, final) => {
  const replay = new Replay({ spec, tables });
  const says = /^final .*the last observation of a truncated episode/;
  const items = [{ table: "t", nStep: 2 }] as const;
  const writer = replay.writer({ items });
  writer.append(step);
  expectError(
    errorOf(() => writer.endEpisode({ final, terminated: false } as never)),
    TypeError,
    says,
  );
  const two = { observation: [step.observation, step.observation], action: [1, 1], reward: [1, 1] };
  const lanes = replay.writer({ items, lanes: 2, autoreset: "sameStep" });
  lanes.append(two, { terminated: [false, false], final } as never);
  expectError(
    errorOf(() => lanes.append(two, { terminated: [false, false], truncated: [true, false], final } as never)),
    TypeError,
    says,
  );
  // The next step would be the final one, so an end without a step has no final step.
  const next = replay.writer({ items, lanes: 2, autoreset: "nextStep" });
  next.append(two);
  expectError(
    errorOf(() => next.endEpisode({ lane: 0, final, terminated: false } as never)),
    TypeError,
    says,
  );
  expect(replay.tables.t.size).toBe(0);
});

test("errors name the rule of a misspelt table, a wrong column, missing options and a missing lane", () => {
  const { replay, table } = filled();
  expect(errorOf(() => replay.writer({ items: [{ table: "x" as never, nStep: 1 }] })).message).toBe('items[0].table must be one of "t", got "x"');
  const { keys, returns } = table.transitions({ gamma: 1 }).sample(2);
  expect(table.updatePriorities(keys, returns)).toBe(2);
  expect(errorOf(() => table.updatePriorities(keys, { data: 1, shape: [2] } as never)).message).toMatch(
    /^priorities must be an array of numbers, got an object with keys data, shape$/,
  );
  expect(errorOf(() => table.transitions(undefined as never)).message).toMatch(/^the options of transitions are required: an object with keys gamma/);
  const lanes = replay.writer({ lanes: 2 });
  expect(errorOf(() => lanes.endEpisode({ terminated: true })).message).toMatch(/^lane .*the writer has 2 lanes/);
});

test("suggests table.batch if into is too small or not a batch", () => {
  const { table } = filled();
  const says = "into must have room for at least 8 items, got 4. Pass a batch from table.batch(8, …)";
  expect(errorOf(() => table.sample(8, { into: table.sample(4) }))).toMatchObject({ code: "SPEC_MISMATCH", message: says });
  for (const wrong of [true, {}, table.sample(4).steps])
    expect(errorOf(() => table.sample(4, { into: wrong as never })).message).toMatch(/^into must be a batch, .*table\.batch\(n, \{ length \}\), got/);
});

test("dataset() without options names the required option", () => {
  const { table } = filled();
  expect(errorOf(() => (table.dataset as () => unknown)()).message).toMatch(/^the options of dataset are required: an object with batchSize/);
});

test("Replay.open without dir describes the required directory", async () => {
  await expect(Replay.open({ spec } as never)).rejects.toThrow(/^dir is required: the path of a directory/);
});

test("suggests module and wasm-unsafe-eval if the host forbids compiling", async () => {
  const { moduleOf } = await import("../../src/memory/module.ts?forbidden" as string);
  vi.spyOn(WebAssembly, "Module").mockImplementation(
    class {
      constructor() {
        throw new WebAssembly.CompileError("Wasm code generation disallowed by embedder");
      }
    } as never,
  );
  const error = errorOf(() => moduleOf());
  expect(error).toMatchObject({ name: "ReplayError", code: "UNSUPPORTED", cause: { name: "CompileError" } });
  expect(error.message).toMatch(/disallowed by embedder\)\. .*'wasm-unsafe-eval'.* option module/);
});

test.each(["NotCapable", "PermissionDenied"])("Deno without --allow-read (%s) reports the missing permission instead of a missing file", (name) => {
  const cause = Object.assign(new Error('Requires read access to "data"'), { name });
  expect(openError("there is no such file", "data", cause)).toMatchObject({
    code: "IO",
    message: expect.stringMatching(/does not permit reading the file\. Start Deno with --allow-read/),
  });
  const told = errorOf(() =>
    withIoErrors("listing", memory(), "", () => {
      throw cause;
    }),
  );
  expect(told.message).toMatch(/permission is denied \(\w+\)\. Start Deno with --allow-read/);
  expect(openError("there is no such file", "data", Object.assign(new Error(), { code: "ENOENT" }))).toMatchObject({ code: "NOT_FOUND" });
});
