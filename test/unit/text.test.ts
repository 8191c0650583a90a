import { describe, expect, expectTypeOf, test } from "vitest";
import { memory } from "../../src/files/memory.ts";
import { type Column, f32, fifo, i32, Replay, shared, text } from "../../src/index.ts";
import { broken } from "../support/health.ts";
import { errorOf, expectError, expectRefused } from "../support/refused.ts";

const spec = { task: text({ maxBytes: 8 }), words: text({ maxBytes: 3 }, 2), reward: f32() } as const;
const tables = { t: { maxSize: 10, sampler: fifo() } } as const;
/** Options that draw each item once, oldest first. */
const ALL = { replacement: false } as const;
const step = { task: "push", words: ["a", "bc"], reward: 1 } as const;

function appended(...tasks: string[]) {
  const replay = new Replay({ spec, tables });
  const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
  for (const task of tasks) writer.append({ ...step, task });
  return { replay, writer, table: replay.table("t") };
}

describe("values", () => {
  test("text is returned as flat arrays of strings with the batch's shape", () => {
    const { table } = appended("", "12345678", "né€", "\0", "\ufeffa");
    const { steps } = table.sample(5, ALL);
    expect(steps.task).toEqual({ data: ["", "12345678", "né€", "\0", "\ufeffa"], shape: [5, 1] });
    expect(steps.words).toEqual({ data: Array(5).fill(["a", "bc"]).flat(), shape: [5, 1, 2] });
  });

  test("missing steps of a window are empty text, and columns and histories support text", () => {
    const { replay, writer, table } = appended("a", "b", "c");
    writer.createItem("t", { length: 3 });
    const padded = table.sample(4, { length: 2, offset: "end", ...ALL });
    expect(padded.steps.task).toEqual({ data: ["a", "", "b", "", "c", "", "b", "c"], shape: [4, 2] });
    const columns = { last: { leaf: "task", at: -1 }, back: { leaf: "task", steps: [1, 0] }, two: { leaf: "words", at: 0 } } as const;
    const { steps } = table.sample(4, { columns, length: 3, ...ALL });
    expect(steps.last).toEqual({ data: ["a", "b", "c", "c"], shape: [4] });
    expect(steps.back).toEqual({ data: ["", "a", "", "b", "", "c", "b", "a"], shape: [4, 2] });
    expect(steps.two.shape).toEqual([4, 2]);
    expect(broken(replay)).toEqual([]);
  });

  test("a spec may be a single text leaf", () => {
    const replay = new Replay({ spec: text({ maxBytes: 4 }), tables });
    const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
    writer.append("one");
    writer.staged.value = "two";
    writer.append();
    writer.appendColumns(["3", "4"]);
    expect(replay.table("t").sample(4, ALL).steps).toEqual({ data: ["one", "two", "3", "4"], shape: [4, 1] });
  });

  test("appendColumns and lanes accept flat or nested arrays of strings", () => {
    const { writer, table } = appended();
    expect(
      writer.appendColumns({
        task: ["a", "b"],
        words: [
          ["c", "d"],
          ["e", "f"],
        ],
        reward: [1, 2],
      }),
    ).toBe(2);
    expect(writer.appendColumns({ task: ["g"], words: ["h", "i"], reward: [3] })).toBe(1);
    const { steps } = table.sample(3, ALL);
    expect([steps.task.data, steps.words.data]).toEqual([
      ["a", "b", "g"],
      ["c", "d", "e", "f", "h", "i"],
    ]);

    const replay = new Replay({ spec, tables });
    const lanes = replay.writer({ lanes: 2, items: [{ table: "t", length: 1 }] });
    lanes.append({
      task: ["a", "b"],
      words: [
        ["c", "d"],
        ["e", "f"],
      ],
      reward: [1, 2],
    });
    lanes.appendColumns({
      task: [["g", "h"]],
      words: [
        [
          ["i", "j"],
          ["k", "l"],
        ],
      ],
      reward: [3, 4],
    });
    const both = replay.table("t").sample(4, ALL).steps;
    expect([both.task.data, both.words.data]).toEqual([
      ["a", "b", "g", "h"],
      ["c", "d", "e", "f", "i", "j", "k", "l"],
    ]);
    expect(lanes.staged.task).toEqual(["a", "b"]);
  });

  test("staged text keeps its value until it is assigned again", () => {
    const { writer, table } = appended();
    const { staged } = writer;
    expect([staged.task, staged.words]).toEqual(["", ["", ""]]);
    staged.task = "long one";
    staged.words = ["a", "b"];
    writer.append();
    staged.task = "b";
    writer.append();
    expect(() => Object.assign(staged.words, ["c"])).toThrow(TypeError);
    expect(table.sample(2, ALL).steps.task.data).toEqual(["long one", "b"]);
    expect(table.sample(2, ALL).steps.words.data).toEqual(["a", "b", "a", "b"]);
  });

  test("text of 1 KiB or more is sampled like shorter text, with and without `into`", () => {
    const replay = new Replay({ spec: { page: text({ maxBytes: 3000 }), x: i32() }, tables });
    const writer = replay.writer({ items: [{ table: "t", length: 2 }] });
    const pages = ["", "€".repeat(1000), "x", "y".repeat(2999)];
    for (const [x, page] of pages.entries()) writer.append({ page, x });
    const table = replay.table("t");
    const wanted = ["", pages[1], pages[1], "x", "x", pages[3]];
    expect(table.sample(3, ALL).steps.page.data).toEqual(wanted);
    const into = table.batch(3, { length: 2 });
    expect(table.sample(3, { into, ...ALL }).steps.page.data).toEqual(wanted);
  });

  test("shared text is stored once", () => {
    const task = "pick up the red block";
    const used = [text({ maxBytes: 500 }), shared("task", text({ maxBytes: 500 }))].map((leaf) => {
      const replay = new Replay({ spec: { task: leaf }, tables: { t: { maxSize: 5000 } } });
      const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
      const before = replay.stats().bytes.used;
      for (let i = 0; i < 5000; i++) writer.append({ task: i < 4000 ? task : "" });
      const { data } = replay.table("t").sample(500).steps.task;
      expect(new Set(data)).toEqual(new Set([task, ""]));
      expect(broken(replay)).toEqual([]);
      return replay.stats().bytes.used - before;
    });
    expect(used[0]).toBeGreaterThan(4 * (used[1] as number));
    const stack = new Replay({ spec: shared("w", text({ maxBytes: 4 }), 2), tables });
    const writer = stack.writer({ items: [{ table: "t", length: 1 }] });
    writer.append(["a", "b"] as never);
    writer.append(["b", ""] as never);
    expect(stack.table("t").sample(2, ALL).steps).toEqual({ data: ["a", "b", "b", ""], shape: [2, 1, 2] });
  });

  test("a plan counts maxBytes and 4 bytes for each string", () => {
    const bytes = (maxBytes: number, ...shape: number[]) => Replay.plan({ spec: text({ maxBytes }, ...shape), tables }).bytesPerStep;
    expect(bytes(12) - bytes(4)).toBe(8);
    expect(bytes(12, 10) - bytes(4, 10)).toBe(80);
    expect(bytes(2000)).toBeGreaterThanOrEqual(2004);
  });
});

describe("into", () => {
  test("fills the existing arrays, including arrays made by the caller", () => {
    const { table } = appended("a", "b", "c");
    const into = table.batch(4, { length: 1 });
    expect(into.steps.task).toEqual({ data: ["", "", "", ""], shape: [4, 1] });
    const { data } = into.steps.task;
    expect(table.sample(4, { into, ...ALL }).count).toBe(3);
    expect(into.steps.task.data).toBe(data);
    expect(data).toEqual(["a", "b", "c", ""]);
    const own = { ...into.detached(), steps: { ...into.steps, task: { data: [], shape: [4, 1] } } };
    expect(table.sample(2, { into: own, length: 1, ...ALL }).steps.task.data).toEqual(["a", "b"]);
  });

  test("must have an array for a text leaf", () => {
    const { replay, table } = appended("a");
    const into = table.batch(1, { length: 1 });
    for (const data of [undefined, "a", new Uint8Array(9)])
      expectRefused(
        replay,
        () => table.sample(1, { into: { ...into, steps: { ...into.steps, task: { data } } } as never, length: 1 }),
        "SPEC_MISMATCH",
        /^into\.steps\.task\.data (must be|is required:) an array/,
      );
  });
});

describe("rejects", () => {
  test("text that is too long, with its leaf, limit and length, and appends nothing", () => {
    const { replay, writer } = appended("a");
    for (const [task, bytes] of [
      ["123456789", 9],
      ["né€𝄞", 10],
      ["x".repeat(100_000), 100_000],
    ] as const)
      expectRefused(replay, () => writer.append({ ...step, task }), "INVALID_DATA", new RegExp(`^task must .* 8 bytes.*maxBytes.*got ${bytes} bytes$`));
    expectRefused(replay, () => writer.append({ ...step, words: ["a", "1234"] }), "INVALID_DATA", /^words .* got 4 bytes$/);
    expectRefused(replay, () => writer.appendColumns({ task: ["a", "123456789"], words: ["", "", "", ""], reward: [1, 2] }), "INVALID_DATA", /^task /);
    expectRefused(
      replay,
      () => {
        writer.staged.task = "123456789";
      },
      "INVALID_DATA",
      /^task /,
    );
    writer.append({ ...step, task: "né€" });
    expect(replay.table("t").sample(2, ALL).steps.task.data).toEqual(["a", "né€"]);
  });

  test("values that are not text", () => {
    const { replay, writer } = appended("a");
    const odd: readonly (readonly [unknown, RegExp])[] = [
      [5, /got 5$/],
      [null, /got null$/],
      [undefined, /is required/],
      [["a"], /got an array of 1$/],
      [new Uint8Array(2), /got Uint8Array\(2\)$/],
      ["a\ud834", /well-formed text, got "a\\ud834"$/],
    ];
    for (const [task, says] of odd)
      expectRefused(replay, () => writer.append({ ...step, task } as never), "SPEC_MISMATCH", /^task (must|is required, and must) be string/, says);
    for (const words of ["ab", ["a"], ["a", 5], ["a", "b", "c"], [["a", "b"]]])
      expectRefused(replay, () => writer.append({ ...step, words } as never), "SPEC_MISMATCH", /^words must be string/);
    for (const task of ["ab", [1, 2], [["a"], ["b"]], new Uint8Array(2)])
      expectRefused(replay, () => writer.appendColumns({ task, words: ["", "", "", ""], reward: [1, 2] } as never), "SPEC_MISMATCH", /^task must be/);
  });

  test("text() without a valid maxBytes, or with an unknown option", () => {
    expectError(
      errorOf(() => text(undefined as never)),
      TypeError,
      /^the options of text are required: an object with keys maxBytes/,
    );
    expectError(
      errorOf(() => text({} as never)),
      TypeError,
      /^maxBytes is required: an integer >= 1/,
    );
    expectError(
      errorOf(() => text({ maxBytes: 0 })),
      RangeError,
      /^maxBytes must be an integer >= 1, got 0/,
    );
    expectError(
      errorOf(() => text({ maxBytes: 8, maxLength: 9 } as never)),
      TypeError,
      /maxLength/,
    );
  });

  test("a text leaf without a valid limit or shape, and unknown dtypes", () => {
    const make = (leaf: object) => errorOf(() => new Replay({ spec: { a: leaf } as never, tables }));
    expectError(make({ dtype: "string", shape: [] }), TypeError, /^maxBytes of the text leaf a is required: an integer/);
    for (const maxBytes of [0, -1, 2 ** 31]) expectError(make({ ...text({ maxBytes: 1 }), maxBytes }), RangeError, /^maxBytes of the text leaf a/);
    expectError(make(text({ maxBytes: 2 ** 29 }, 2)), RangeError, /^bytes of a/);
    expectError(make(text({ maxBytes: 4 }, 0)), RangeError, /^shape of a/);
    for (const dtype of ["bytes", "object", "text"])
      expectError(make({ dtype, shape: [] }), RangeError, /^dtype of a must be one of "bool", .*"bf16", "string", got /);
  });

  test("text leaves for nStep, which needs numbers", () => {
    const { replay, table } = appended("a");
    for (const nStep of [{ reward: "task" }, { reward: "reward", discount: "task" }, { reward: "reward", terminal: "task" }] as const)
      expectRefused(
        replay,
        () => table.sample(1, { nStep: { n: 1, gamma: 1, ...nStep } }),
        "SPEC_MISMATCH",
        /^nStep\.\w+ must be an unshared (numeric leaf|leaf with one number per step)/,
      );
  });
});

test("types", () => {
  const { writer, table } = appended("a");
  expectTypeOf(table.sample(1, ALL).steps).toEqualTypeOf<{
    readonly task: Column<"string", [number, number]>;
    readonly words: Column<"string", [number, number, 2]>;
    readonly reward: Column<"f32", [number, number]>;
  }>();
  expectTypeOf(table.sample(1, ALL).steps.task.data).toEqualTypeOf<string[]>();
  expectTypeOf(table.sample(1, { columns: { a: { leaf: "task" }, b: { leaf: "reward" } } }).steps).toEqualTypeOf<{
    readonly a: Column<"string", [number, number]>;
    readonly b: Column<"f32", [number, number]>;
  }>();
  expectTypeOf(writer.staged).toEqualTypeOf<{ task: string; words: readonly string[]; reward: number }>();
  const never = () => {
    // @ts-expect-error text is not a number
    writer.append({ ...step, task: 5 });
    // @ts-expect-error the leaf is an array of two texts
    writer.append({ ...step, words: "a" });
    // @ts-expect-error columns have one text per step
    writer.appendColumns({ task: "a", words: ["a", "b"], reward: [1] });
    // @ts-expect-error maxBytes is required
    text({});
  };
  expectTypeOf(never).toBeFunction();
});

test("a Replay with text reopens and restores, and rejects a different maxBytes", async () => {
  const dir = memory();
  const kept = { ...spec, page: text({ maxBytes: 2000 }), same: shared("same", text({ maxBytes: 20 })) } as const;
  const page = "€".repeat(600);
  const first = await Replay.open({ dir, spec: kept, tables });
  first.writer({ items: [{ table: "t", length: 1 }] }).append({ ...step, task: "né€", page, same: "x" });
  first.dispose();
  const again = await Replay.open<typeof kept, "t">({ dir });
  expect(again.options.spec).toEqual(kept);
  again.writers[0]?.append({ ...step, page: "", same: "x" });
  const restored = Replay.restore<typeof kept, "t">(again.snapshot());
  for (const replay of [restored, again]) {
    const { steps } = replay.table("t").sample(2, ALL);
    expect([steps.task.data, steps.page.data, steps.same.data]).toEqual([
      ["né€", "push"],
      [page, ""],
      ["x", "x"],
    ]);
  }
  again.dispose();
  const other = { ...kept, task: text({ maxBytes: 9 }) };
  const error = await Replay.open({ dir, spec: other, tables }).then(
    () => new Error("it was opened"),
    (reason: Error) => reason,
  );
  expectError(error, "SPEC_MISMATCH", /maxBytes/);
});
