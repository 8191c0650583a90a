import { expectTypeOf, test } from "vitest";
import { type Column, f32, i32, text, u8 } from "../../../src/index.ts";
import {
  batchExperiences,
  EpisodicReplayBuffer,
  type Listed,
  object,
  PersistentReplayBuffer,
  PrioritizedEpisodicReplayBuffer,
  PrioritizedReplayBuffer,
  ReplayBuffer,
  type Transition,
} from "../../../src/pfrl/index.ts";
import { memory } from "../../../src/storage/index.ts";

const spec = { state: { image: u8(2, 2), word: object() }, action: i32(), extras: { logp: f32(), said: text({ maxBytes: 8 }) } } as const;
const options = { spec, capacity: 4 } as const;
const step = { state: { image: Uint8Array.of(1, 2, 3, 4), word: "x" }, action: 1, reward: 1, logp: 0.5, said: "go", isStateTerminal: true };
const uniform = new ReplayBuffer(options);
const prioritized = new PrioritizedReplayBuffer(options);
const episodic = new EpisodicReplayBuffer(options);
const both = new PrioritizedEpisodicReplayBuffer(options);
const persistent = new PersistentReplayBuffer(memory(), 4, { spec, durability: "manual" });
for (const buffer of [uniform, prioritized, episodic, both, persistent]) buffer.append(step);

test("a batch has the columns of the spec", () => {
  for (const batch of [uniform.sample(1), episodic.sample(1), episodic.sampleEpisodes(1), both.sample(1), persistent.sample(1)]) {
    expectTypeOf(batch.state).toEqualTypeOf<{ readonly image: Column<"u8">; readonly word: unknown[] }>();
    expectTypeOf(batch.nextState).toEqualTypeOf<{ readonly image: Column<"u8">; readonly word: unknown[] }>();
    expectTypeOf(batch.action).toEqualTypeOf<Column<"i32">>();
    expectTypeOf(batch.reward).toEqualTypeOf<Column<"f64">>();
    expectTypeOf(batch.isStateTerminal).toEqualTypeOf<Column<"bool">>();
    expectTypeOf(batch.extras).toEqualTypeOf<{ readonly logp: Column<"f32">; readonly said: Column<"string"> }>();
    expectTypeOf(batch.keys).toEqualTypeOf<Float64Array<ArrayBuffer>>();
  }
  const weighted = prioritized.sample(1);
  expectTypeOf(weighted.weights).toEqualTypeOf<Float64Array<ArrayBuffer>>();
  prioritized.updateErrors([1]);
  expectTypeOf(prioritized.sample(1, { into: weighted })).toEqualTypeOf(weighted);
  expectTypeOf(both.sampleEpisodes(1, 2).weights).toEqualTypeOf<Float64Array<ArrayBuffer>>();
  const reward = new ReplayBuffer({ spec: { ...spec, reward: f32() } });
  reward.append(step);
  expectTypeOf(reward.sample(1).reward).toEqualTypeOf<Column<"f32">>();
});

test("without a spec the types of states and extras are any", () => {
  const buffer = new ReplayBuffer(4);
  buffer.append({ state: 1, action: 2, reward: 3 });
  const { state, extras, reward } = buffer.sample(1);
  expectTypeOf(state).toBeAny();
  expectTypeOf(reward).toEqualTypeOf<Column<"f64">>();
  expectTypeOf(extras).toEqualTypeOf<{ readonly [name: string]: typeof state }>();
});

test("the list form returns a list of transitions", () => {
  expectTypeOf(uniform.sample(1, { form: "list" })).toEqualTypeOf<Listed<Transition[]>>();
  expectTypeOf(episodic.sampleEpisodes(1, { form: "list" })).toEqualTypeOf<Listed<Transition[]>>();
  expectTypeOf(episodic.sampleEpisodes(1, 2, { form: "list" })).toEqualTypeOf<Listed<Transition[]>>();
  expectTypeOf(both.sample(1, { form: "list" })).toEqualTypeOf<Listed<Transition>>();
  const [item] = uniform.sample(1, { form: "list" });
  expectTypeOf(item?.[0]?.reward).toEqualTypeOf<number | undefined>();
});

test("batchExperiences accepts both forms", () => {
  expectTypeOf(batchExperiences(uniform.sample(1), { gamma: 1 }).discount).toEqualTypeOf<Column<"f32">>();
  expectTypeOf(
    batchExperiences([...uniform.sample(1, { form: "list" })], { gamma: 1, phi: (state: { image: Uint8Array } | null) => state?.image ?? new Uint8Array(4) })
      .reward,
  ).toEqualTypeOf<Column<"f32">>();
});

test("invalid arguments do not compile", () => {
  const never = () => {
    // @ts-expect-error no such argument
    new ReplayBuffer({ numStep: 1 });
    // @ts-expect-error no such argument
    new PrioritizedReplayBuffer(4, { betasteps: 1 });
    // @ts-expect-error unsupported value of normalizeByMax
    new PrioritizedReplayBuffer({ normalizeByMax: "max" });
    // @ts-expect-error the directory is missing
    new PersistentReplayBuffer(4);
    // @ts-expect-error an internal option of PFRL
    new PersistentReplayBuffer("d", 4, { distributed: true });
    // @ts-expect-error the reward is missing
    uniform.append({ state: 1, action: 1 });
    // @ts-expect-error no such form
    uniform.sample(1, { form: "rows" });
  };
  expectTypeOf(never).toBeFunction();
});
