import { expect, expectTypeOf, test } from "vitest";
import {
  type AnySteps,
  type Batch,
  bf16,
  bool,
  type Column,
  f16,
  f32,
  f64,
  i32,
  i64,
  mixture,
  packed,
  type RelabelledSteps,
  Replay,
  type Spec,
  shared,
  type Table,
  u8,
  u64,
  type Writer,
} from "../../src/index.ts";
import { migrateSnapshot } from "../../src/storage/index.ts";

const spec = { obs: { image: u8(2, 2), pos: [f32(3), i64()] }, reward: f64(), done: bool() } as const;
const replay = new Replay({ spec, tables: { a: { maxSize: 4 }, b: { maxSize: 4 } } });
const table = replay.table("a");
const writer = replay.writer();
const step = { obs: { image: [1, 2, 3, 4], pos: [[1, 2, 3], 4n] }, reward: 1, done: false } as const;

test("a batch is nested like the spec, and each leaf has the array of its dtype", () => {
  expectTypeOf(table.sample(1).steps).toEqualTypeOf<{
    readonly obs: {
      readonly image: Column<"u8", [number, number, 2, 2]>;
      readonly pos: readonly [Column<"f32", [number, number, 3]>, Column<"i64", [number, number]>];
    };
    readonly reward: Column<"f64", [number, number]>;
    readonly done: Column<"bool", [number, number]>;
  }>();
  const { steps, info } = table.sample(1);
  expectTypeOf(steps.obs.image.data).toEqualTypeOf<Uint8Array<ArrayBuffer>>();
  expectTypeOf(steps.obs.pos[1].data).toEqualTypeOf<BigInt64Array<ArrayBuffer>>();
  expectTypeOf(steps.done.data).toEqualTypeOf<Uint8Array<ArrayBuffer>>();
  expectTypeOf(info.keys).toEqualTypeOf<Float64Array<ArrayBuffer>>();
  const leaf = new Replay({ spec: i32(), tables: { t: { maxSize: 1 } } });
  expectTypeOf(leaf.table("t").sample(1).steps).toEqualTypeOf<Column<"i32", [number, number]>>();
});

test("half floats are f32 arrays in batches and staged steps", () => {
  const halves = new Replay({ spec: { a: f16(2), b: bf16() }, tables: { t: { maxSize: 4 } } });
  const { steps } = halves.table("t").batch(1, { length: 1 });
  expectTypeOf(steps.a).toEqualTypeOf<Column<"f16", [number, number, 2]>>();
  expectTypeOf(steps.a.data).toEqualTypeOf<Float32Array<ArrayBuffer>>();
  expectTypeOf(halves.writer().staged.a).toEqualTypeOf<Float32Array>();
  expectTypeOf(halves.writer().staged.b).toEqualTypeOf<number>();
  expectTypeOf(halves.writer().append).toBeCallableWith({ a: Float32Array.of(1, 2), b: 0.5 });
});

test("columns return a flat batch with their names and dtypes", () => {
  const columns = { s: { leaf: "obs.image", at: 0 }, p: { leaf: "obs.pos.0", from: -2 }, r: { leaf: "reward" } } as const;
  const batch = table.sample(1, { columns });
  expectTypeOf(batch.steps).toEqualTypeOf<{
    readonly s: Column<"u8", [number, 2, 2]>;
    readonly p: Column<"f32", [number, number, 3]>;
    readonly r: Column<"f64", [number, number]>;
  }>();
  expectTypeOf(table.sampleWhenReady(1, { columns })).resolves.toEqualTypeOf<typeof batch>();
  expectTypeOf(table.batch(1, { columns, length: 2 })).toEqualTypeOf<typeof batch>();
  for (const one of table.dataset({ batchSize: 1, columns })) expectTypeOf(one).toEqualTypeOf<typeof batch>();
});

test("requested n-step returns, weights and masks are not optional", () => {
  const batch = table.sample(1, { beta: 0.4, mask: true, nStep: { n: 1, gamma: 1, reward: "reward" } });
  expectTypeOf(batch.info.weights).toEqualTypeOf<Float64Array<ArrayBuffer>>();
  expectTypeOf(batch.mask).toEqualTypeOf<Uint8Array<ArrayBuffer>>();
  expectTypeOf(batch.nStep.returns).toEqualTypeOf<Float64Array<ArrayBuffer>>();
  const plain = table.sample(1);
  expectTypeOf(plain.info.weights).toEqualTypeOf<Float64Array<ArrayBuffer> | undefined>();
  expectTypeOf(plain.mask).toEqualTypeOf<Uint8Array<ArrayBuffer> | undefined>();
  const own = table.batch(1, { length: 2, beta: 0.4 });
  expectTypeOf(table.sample(1, { into: own, beta: 0.4 }).info.weights).toEqualTypeOf<Float64Array<ArrayBuffer>>();
});

test("names that are not in the spec or among the tables do not compile", () => {
  const never = () => {
    // @ts-expect-error no such table
    replay.table("c");
    // @ts-expect-error no such table
    writer.createItem("c", { length: 1 });
    // @ts-expect-error no such table
    replay.writer({ items: [{ table: "c", length: 1 }] });
    // @ts-expect-error no such leaf
    table.sample(1, { columns: { x: { leaf: "obs.imag" } } });
    // @ts-expect-error a group, not a leaf
    table.sample(1, { columns: { x: { leaf: "obs" } } });
    // @ts-expect-error no such leaf
    table.sample(1, { nStep: { n: 1, gamma: 1, reward: "rewards" } });
    // @ts-expect-error no such leaf
    writer.createItem("a", { length: 1, columns: { x: { leaf: "obs.pos.2" } } });
    // @ts-expect-error no such option
    table.sample(1, { replacment: true });
    // @ts-expect-error no such column
    table.sample(1, { columns: { x: { leaf: "done" } } }).steps.y;
  };
  expectTypeOf(never).toBeFunction();
});

test("a step must have the structure and value types of the spec", () => {
  expectTypeOf(writer.append).toBeCallableWith(step);
  expectTypeOf(writer.append).toBeCallableWith({ ...step, obs: { image: new Uint8Array(4), pos: [new Float32Array(3), 5] as const }, done: 1 });
  const never = () => {
    // @ts-expect-error a leaf is missing
    writer.append({ obs: step.obs, reward: 1 });
    // @ts-expect-error a string is not a number
    writer.append({ ...step, reward: "1" });
    // @ts-expect-error bigints are only for 64-bit leaves
    writer.append({ ...step, reward: 1n });
    // @ts-expect-error an array of the wrong dtype
    writer.append({ ...step, obs: { ...step.obs, image: new Float32Array(4) } });
    // @ts-expect-error an array instead of a single number
    writer.append({ ...step, reward: [1] });
    // @ts-expect-error columns are arrays
    writer.appendColumns({ ...step, reward: 1 });
    // @ts-expect-error an unknown key
    writer.append({ ...step, other: 1 });
  };
  expectTypeOf(never).toBeFunction();
});

test("staged has numbers and arrays", () => {
  expectTypeOf(writer.staged.reward).toEqualTypeOf<number>();
  expectTypeOf(writer.staged.obs.image).toEqualTypeOf<Uint8Array>();
  expectTypeOf(writer.staged.obs.pos[1]).toEqualTypeOf<bigint>();
  const leaf = new Replay({ spec: u64(), tables: { t: { maxSize: 1 } } });
  expectTypeOf(leaf.writer().staged).toEqualTypeOf<{ value: bigint }>();
});

test("shared leaves keep their dtype, and a stack adds the first dimension", () => {
  const sharing = new Replay({ spec: { f: shared("f", u8(4), 3), g: shared("g", f32(2)) }, tables: { t: { maxSize: 1 } } });
  expectTypeOf(sharing.table("t").sample(1).steps.f).toEqualTypeOf<Column<"u8", [number, number, 3, 4]>>();
  expectTypeOf(sharing.table("t").sample(1).steps.g.data).toEqualTypeOf<Float32Array<ArrayBuffer>>();
});

test("a writer with lanes accepts and stages arrays with a value per lane", () => {
  const lanes = replay.writer({ lanes: 2 });
  expectTypeOf(lanes.staged.reward).toEqualTypeOf<Float64Array>();
  expectTypeOf(lanes.staged.obs.image).toEqualTypeOf<Uint8Array>();
  lanes.append({
    obs: {
      image: new Uint8Array(8),
      pos: [
        [
          [1, 2, 3],
          [4, 5, 6],
        ],
        [1n, 2n],
      ],
    },
    reward: [1, 2],
    done: [true, false],
  });
  expectTypeOf(replay.writer({ lanes: 1 }).staged.reward).toEqualTypeOf<number>();
  const some = Number("3");
  expectTypeOf(replay.writer({ lanes: some }).staged.reward).toEqualTypeOf<number | Float64Array>();
  const never = () => {
    // @ts-expect-error every lane needs a value
    lanes.append({
      ...step,
      obs: {
        image: new Uint8Array(8),
        pos: [
          [1, 2, 3, 4, 5, 6],
          [1n, 2n],
        ],
      },
    });
    // @ts-expect-error no such option
    replay.writer({ lane: 2 });
  };
  expectTypeOf(never).toBeFunction();
});

const chunks = () => replay.snapshot();

test("an unknown spec allows every name", () => {
  const any = Replay.restore(chunks());
  expectTypeOf(any).toEqualTypeOf<Replay>();
  expectTypeOf(any.tables).toEqualTypeOf<{ readonly [name: string]: Table }>();
  expectTypeOf(any.table("a")).toEqualTypeOf<Table>();
  expectTypeOf(any.table("a").sample(1)).toEqualTypeOf<Batch<AnySteps>>();
  expectTypeOf(any.writer()).toExtend<Writer>();
});

test("a batch of a mixture has the type of its sources, and a source per row", () => {
  const other = new Replay({ spec, tables: { c: { maxSize: 4 } } });
  const items = mixture([
    { from: table, share: 0.5 },
    { from: other.table("c"), share: (draw) => 1 / (1 + draw) },
  ]);
  const plain = () => items.sample(2);
  expectTypeOf<ReturnType<typeof plain>["info"]["source"]>().toEqualTypeOf<Uint8Array<ArrayBuffer>>();
  const sampled = () => items.sample(2, { beta: 0.4, columns: { r: { leaf: "reward", at: 0 } } });
  expectTypeOf<ReturnType<typeof sampled>["steps"]["r"]>().toEqualTypeOf<Column<"f64", [number]>>();
  expectTypeOf<ReturnType<typeof sampled>["info"]["weights"]>().toEqualTypeOf<Float64Array<ArrayBuffer>>();
  // @ts-expect-error no such option
  () => items.sample(2, { betta: 0.4 });
  const roles = new Replay({ spec: { observation: f32(4), action: i32(), reward: f32() }, tables: { t: { maxSize: 4 } } });
  const mix = mixture([
    { from: roles.table("t").transitions({ gamma: 0.9, next: ["action"] }), share: 1 },
    { from: roles.table("t").transitions({ gamma: 0.5, n: 2, next: ["action"] }), share: 1 },
  ]);
  const drawn = () => mix.sample(2, { beta: 0.4 });
  type Drawn = ReturnType<typeof drawn>;
  expectTypeOf<Drawn["observation"]>().toEqualTypeOf<Column<"f32", [number, 4]>>();
  expectTypeOf<Drawn["nextAction"]>().toEqualTypeOf<Column<"i32", [number]>>();
  expectTypeOf<Drawn["weights"]>().toEqualTypeOf<Column<"f32", [number]>>();
  expectTypeOf<Drawn["source"]>().toEqualTypeOf<Column<"u8", [number]>>();
  // @ts-expect-error only an option of items
  () => mix.sample(2, { length: 3 });
  // @ts-expect-error no such option
  () => mix.dataset({ batchSize: 3, mask: true });
  // @ts-expect-error neither a table nor a view
  () => mixture([{ from: roles, share: 1 }]);
});

test("a migrated step must fit the new spec, except for shared and packed leaves", () => {
  const options = {
    dir: "nowhere",
    spec: { frame: shared("frames", u8(4), 2), seen: { screen: packed("screens", u8(256)) }, obs: { place: f32(2), map: shared("maps", u8(4)) }, mood: i32() },
    tables: { t: { maxSize: 4 } },
    onMismatch: "migrate",
  } as const;
  type Old = { readonly obs: { readonly place: Float32Array } };
  const open = () => Replay.open({ ...options, migrate: (step: Old) => ({ obs: step.obs, mood: 0 }) });
  async () => expectTypeOf((await open()).table("t").sample(1).steps.mood).toEqualTypeOf<Column<"i32", [number, number]>>();
  // A step of unknown type may be spread into the result.
  () => Replay.open({ ...options, migrate: (step) => ({ ...step, mood: 0 }) });
  () => migrateSnapshot(new Uint8Array(), { spec: options.spec, migrate: (step: Old) => ({ obs: step.obs, mood: 0 }) });
  // If the spec's type is unknown, any step is accepted.
  () => Replay.open({ dir: "nowhere", spec: options.spec as Spec, tables: {}, onMismatch: "migrate", migrate: () => 3 });
  // @ts-expect-error: mood is missing
  () => Replay.open({ ...options, migrate: (step: Old) => ({ obs: step.obs }) });
  // @ts-expect-error: a string is not a number
  () => Replay.open({ ...options, migrate: (step: Old) => ({ obs: step.obs, mood: "good" }) });
  // @ts-expect-error: mood is missing
  () => migrateSnapshot(new Uint8Array(), { spec: options.spec, migrate: (step: Old) => ({ obs: step.obs }) });
});

test("a relabelling view has a `relabelled` column, and accepts only paths of the spec", () => {
  const goals = new Replay({
    spec: { observation: { place: f32(2), wanted: f32(2) }, action: i32(), reward: f32() },
    tables: { t: { maxSize: 4 } },
  }).tables.t;
  const reward = ({ rows }: RelabelledSteps) => new Float32Array(rows.length);
  const make = () => goals.transitions({ gamma: 1, relabel: { goal: "observation.wanted", achieved: "observation.place", strategy: "final", reward } });
  type Goals = ReturnType<ReturnType<typeof make>["sample"]>;
  expectTypeOf<Goals["relabelled"]>().toEqualTypeOf<Column<"u8", [number]>>();
  expectTypeOf<Goals["observation"]["wanted"]>().toEqualTypeOf<Column<"f32", [number, 2]>>();
  const plain = () => goals.transitions({ gamma: 1 });
  expectTypeOf<ReturnType<ReturnType<typeof plain>["sample"]>>().not.toHaveProperty("relabelled");
  // @ts-expect-error: no such path
  expect(() => goals.transitions({ gamma: 1, relabel: { goal: "observation.wish", achieved: "observation.place", reward } })).toThrow("relabel.goal");
  // @ts-expect-error: no such strategy
  expect(() => goals.transitions({ gamma: 1, relabel: { goal: "observation.wanted", achieved: "observation.place", strategy: "past", reward } })).toThrow(
    "past",
  );
});
