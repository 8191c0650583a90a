import { expect, expectTypeOf, test } from "vitest";
import { bool, f32, i32, i64, text } from "../../../src/index.ts";
import {
  type Comparable,
  Condition,
  constantPriorityFn,
  createConfig,
  createReferenceStep,
  inferSignature,
  patternFromTransform,
  type ReferenceField,
  tdError,
  unpackPattern,
} from "../../../src/tf-agents/index.ts";

const spec = { obs: { image: f32(2, 2), speed: f32() }, action: i32(), done: bool(), name: text({ maxBytes: 9 }) } as const;
const step = createReferenceStep(spec);
const pattern = { a: step.action.at(-1) };

test("a reference step is nested like the spec, and its nodes describe their steps", () => {
  expectTypeOf(step.obs.speed).toEqualTypeOf<ReferenceField>();
  const { leaf, ...node } = step.obs.speed.slice(-5, -1, 2);
  expect(node).toEqual({ spec, flatSourceIndex: 4, start: -5, stop: -1, step: 2 });
  expect(leaf.path).toBe("obs.speed");
  expect(step.obs.speed.slice(-5, null, 2).ages).toEqual([5, 3, 1]);
  expect(step.action.at(-3)).toMatchObject({ start: null, stop: -3, step: null, ages: [3], isSqueezed: true });
  expect(createReferenceStep(f32()).slice(-2).ages).toEqual([2, 1]);
});

// The rows contain mistakes, and what their errors name.
test.each([
  [() => step.action.at(0), RangeError, /the index of action must .*-16777215 … -1, got 0/],
  [() => step.action.at(-1.5), TypeError, /the index of action must .*-16777215 … -1, got -1\.5/],
  [() => step.obs.speed.slice(0), RangeError, /start of obs\.speed must .*-16777215 … -1, got 0/],
  [() => step.action.slice(), RangeError, "start of action is required: a negative index"],
  [() => step.action.slice(-3, 1), RangeError, /stop of action must .*-16777215 … 0, got 1/],
  [() => step.action.slice(-2, -2), RangeError, /stop of action must .*-2, got -2/],
  [() => step.action.slice(-3, null, -1), RangeError, /step of action must .*1 … 16777215, got -1/],
  [() => step.action.slice(null, -1, 2), RangeError, /step of action must .*omitted.*got 2/],
  [() => createReferenceStep({ a: f32 } as never), TypeError, /^spec of a must .*f32\(\)/],
  [() => patternFromTransform(spec, undefined as never), TypeError, "transform is required: a function"],
  [() => createConfig({}, "t"), RangeError, /pattern must .*step\.field\.at\(-1\).*got an object without keys/],
  [() => createConfig({ x: 3 } as never, "t"), TypeError, /^pattern.x must be a part .*reference step.*got 3$/],
  [() => createConfig({ x: step.action } as never, "t"), TypeError, /^pattern.x must be a part .*reference step/],
  [() => createConfig({ a: { b: pattern.a }, "a.b": pattern.a }, "t"), RangeError, /pattern must .*got "a\.b"/],
  [() => createConfig(pattern, ""), RangeError, /table must .*got ""/],
  [() => createConfig(pattern, 3 as never), TypeError, /table must .*got 3/],
  [() => createConfig(pattern, "t", { conditions: [Condition.stepIndex() as never] }), TypeError, /^conditions\[0\] must .*Condition.stepIndex\(\).ge\(2\)/],
  [() => createConfig(pattern, "t", { priority: 3 as never }), TypeError, /priority must .*got 3/],
  [() => createConfig(pattern, "t", { prioriy: 3 } as never), TypeError, /has no option "prioriy"/],
  [() => Condition.stepIndex().mod(0), RangeError, /the divisor of mod in stepIndex must .*1 … 2147483647, got 0/],
  [() => Condition.stepIndex().mod(2).eq(-1), RangeError, /the value of eq in stepIndex must .*0 … 2147483647, got -1/],
  [() => Condition.stepsSinceApplied().ge(1.5), TypeError, /^the value of ge in stepsSinceApplied must be an integer in -2147483648 … 2147483647, got 1.5/],
  [() => Condition.stepIndex().eq(2 ** 31), RangeError, /got 2147483648$/],
  [() => Condition.data(spec).obs.image.gt(0), RangeError, /the field obs\.image of Condition\.data must .*got f32 of shape \[2, 2\]/],
  [() => Condition.data(spec).name.mod(2), RangeError, /the field name of Condition\.data must .*got string of shape \[\]/],
  [() => Condition.data(spec).obs.speed.gt(Number.NaN), RangeError, "the value of gt in obs.speed must be a finite number"],
  [() => constantPriorityFn(-1), RangeError, /the priority must .*got -1/],
  [() => constantPriorityFn("a" as never), TypeError, /the priority must .*got "a"/],
  [() => tdError(-0.5, spec, (one) => one.action), RangeError, /the weight of tdError must .*got -0\.5/],
  [() => tdError(0.5, spec, (one) => one.obs.image), RangeError, /the field obs\.image of tdError must .*got f32 of shape \[2, 2\]/],
  [() => tdError(0.5, spec, () => 3 as never), TypeError, /the result of the field function of tdError must .*got 3/],
  [() => unpackPattern({} as never), TypeError, /config must .*got an object without keys/],
  [() => inferSignature([], spec), RangeError, /configs must .*got an array of 0/],
  [() => inferSignature([createConfig(pattern, "t"), createConfig(pattern, "u")], spec), RangeError, /the table of configs\[1\] must .*"t".*got "u"/],
  [() => inferSignature([createConfig(pattern, "t"), createConfig({ b: pattern.a }, "t")], spec), RangeError, /the pattern of configs\[1\] must .*got "b"/],
  [
    () => inferSignature([createConfig(pattern, "t"), createConfig({ a: step.done.at(-1) }, "t")], spec),
    RangeError,
    /the column a of each config must .*i32.*\[\].*got bool of shape \[\]/,
  ],
  [() => inferSignature([createConfig(pattern, "t")], { other: f32() }), Error, /^the spec of the steps has no field action \(.*\), which configs\[0\] uses/],
  [() => inferSignature([createConfig(pattern, "t")], { action: f32() }), Error, /action of configs\[0\] must .*f32.*\[\].*got i32 of shape \[\]/],
] as const)("invalid patterns, configs and conditions are rejected on creation: %s", (make, kind, message) => {
  expect(make).toThrow(kind);
  expect(make).toThrow(message);
});

test("conditions store their comparison, and booleans become numbers", () => {
  expect({ ...Condition.stepIndex().mod(3).lt(2) }).toEqual({ of: "stepIndex", leaf: undefined, mod: 3, comparison: "lt", value: 2 });
  expect(Condition.data(spec).done.eq(true)).toMatchObject({ of: "data", value: 1, leaf: { path: "done" } });
  expect(Condition.data(spec).obs.speed.ge(0.25).value).toBe(0.25);
  expectTypeOf(Condition.data(spec).obs.speed).toEqualTypeOf<Comparable>();
});

test("unpackPattern returns the pattern of a config, and configs are frozen", () => {
  const made = patternFromTransform(spec, (one) => ({ speeds: one.obs.speed.slice(-3), nest: [one.action.at(-1)] }));
  const config = createConfig(made, "t");
  expect(unpackPattern(config)).toBe(made);
  expect(Object.isFrozen(config) && Object.isFrozen(config.conditions) && Object.isFrozen(made.speeds)).toBe(true);
});

test("inferSignature returns the length of the items, or null if lengths differ", () => {
  const long = { x: i64(3) };
  const of = (start: number, by?: number) => createConfig({ x: createReferenceStep(long).x.slice(start, null, by) }, "t");
  expect(inferSignature([of(-5, 2)], long)).toEqual({ x: { dtype: "i64", shape: [3, 3] } });
  expect(inferSignature([of(-5, 2), of(-3)], long)).toEqual({ x: { dtype: "i64", shape: [3, 3] } });
  expect(inferSignature([of(-2), of(-3)], long)).toEqual({ x: { dtype: "i64", shape: [null, 3] } });
});
