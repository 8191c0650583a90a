import { expect, test } from "vitest";
import { memory } from "../../src/files/memory.ts";
import { bool, f32, i32, Replay, shared, text } from "../../src/index.ts";
import { engineOf } from "../../src/replay/replay.ts";
import { bytesOf, errorOf, expectError } from "../support/refused.ts";

const spec = {
  obs: { image: f32(2), state: { speed: f32() } },
  act: [i32(), f32()],
  r: f32(),
  factor: f32(),
  over: bool(),
  says: text({ maxBytes: 8 }),
  wide: f32(3),
} as const;
const transition = { observation: "obs", action: "act", reward: "r", discount: "factor", terminated: "over" };
const paths = (replay: object, role: "observation" | "action" | "reward") =>
  engineOf(replay as Replay)
    .roles.required(role, "a view")
    .map(({ path }) => path);

test("a role is the leaf or subtree at its path, or by default at its name", () => {
  const replay = new Replay({ spec, transition });
  expect(paths(replay, "observation")).toEqual(["obs.image", "obs.state.speed"]);
  expect(paths(replay, "action")).toEqual(["act.0", "act.1"]);
  expect(paths(replay, "reward")).toEqual(["r"]);
  expect(paths(new Replay({ spec, transition: { observation: "obs.state" } }), "observation")).toEqual(["obs.state.speed"]);
  const usual = new Replay({ spec: { observation: { a: f32(), b: f32() }, action: i32(), reward: f32(), observations: f32() } });
  expect(paths(usual, "observation")).toEqual(["observation.a", "observation.b"]);
  const { roles } = engineOf(usual);
  expect([roles.optional("discount"), roles.optional("terminated"), roles.rewards("a rule").path]).toEqual([undefined, undefined, "reward"]);
});

test("snapshots and journals keep the roles", async () => {
  const replay = new Replay({ spec, transition });
  const restored = Replay.restore(bytesOf(replay));
  expect(restored.options.transition).toEqual(transition);
  expect(paths(restored, "reward")).toEqual(["r"]);
  const dir = memory();
  (await Replay.open({ spec, transition, dir })).dispose();
  const again = await Replay.open({ dir });
  expect(again.options.transition).toEqual(transition);
  again.dispose();
  const other = await Replay.open({ spec, transition: { ...transition, reward: "factor" }, dir }).catch((error) => error);
  expectError(other, "SPEC_MISMATCH", /transition\.reward must be "r", as in/, /"factor"/);
});

test("the constructor rejects a role that does not fit the spec", () => {
  const bad: [object, Parameters<typeof expectError>[1], ...RegExp[]][] = [
    [
      { observation: "observation" },
      "NOT_FOUND",
      /^transition\.observation must be one of .*"obs", "obs\.image", "obs\.state", "obs\.state\.speed"/,
      /got "observation"/,
    ],
    [{ action: 3 }, "NOT_FOUND", /^transition\.action must be one of "act", "act\.0"/, /got 3/],
    [{ reward: "obs.speed" }, "NOT_FOUND", /^transition\.reward must be one of "act\.0"/],
    [{ reward: "obs" }, "SPEC_MISMATCH", /^transition\.reward/, /obs, a subtree/],
    [{ reward: "says" }, "SPEC_MISMATCH", /^transition\.reward/, /string/],
    [{ reward: "over" }, "SPEC_MISMATCH", /^transition\.reward/, /bool/],
    [{ discount: "over" }, "SPEC_MISMATCH", /^transition\.discount must be .*Pass a terminal flag as terminated/, /over, bool/],
    [{ terminated: "wide" }, "SPEC_MISMATCH", /^transition\.terminated/],
    [{ rewards: "r" }, TypeError, /^transition has no option "rewards"\. Did you mean "reward"\? Options: observation, action, reward, discount, terminated/],
    ["r" as never, TypeError, /^transition must be an object/],
    [null as never, TypeError, /^transition must be an object/],
  ];
  for (const [said, kind, ...says] of bad)
    expectError(
      errorOf(() => new Replay({ spec, transition: said as never })),
      kind,
      ...says,
    );
  const pixels = { reward: shared("f", f32()) };
  expectError(
    errorOf(() => new Replay({ spec: pixels, transition: { reward: "reward" } })),
    "SPEC_MISMATCH",
    /^transition\.reward must be an unshared numeric leaf/,
  );
});

test("a missing role is rejected on use, with the names of possible leaves", () => {
  const { roles } = engineOf(new Replay({ spec }));
  const missing = errorOf(() => roles.rewards("nStep of items[0]"));
  expectError(
    missing,
    "NOT_FOUND",
    /^nStep of items\[0\] requires the reward, but spec has no leaf "reward"\. Map it to one of "act\.0", .*"r".* transition: \{ reward \}/,
  );
  expectError(
    errorOf(() => roles.required("observation", "transitions()")),
    "NOT_FOUND",
    /requires the observation/,
    /"obs", "obs\.image"/,
  );
  const flag = engineOf(new Replay({ spec: { reward: bool() } })).roles;
  expectError(
    errorOf(() => flag.rewards("a rule")),
    "SPEC_MISMATCH",
    /^transition\.reward must be/,
    /bool/,
  );
});
