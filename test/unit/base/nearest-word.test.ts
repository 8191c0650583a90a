/** Tests suggestions of the nearest known word. */
import { expect, test } from "vitest";
import { nearestWord } from "../../../src/base/nearest-word.ts";

const WORDS = ["position", "velocity", "effort", "header", "/joint_states", "x", "y"];

test.each([
  ["postion", "position"],
  ["positions", "position"],
  ["psoition", "position"],
  ["Velocity", "velocity"],
  ["joint_states", "/joint_states"],
  ["/joint_state", "/joint_states"],
  ["force", undefined],
  ["", undefined],
  ["z", undefined],
  ["x".repeat(10_000), undefined],
])("the nearest word to %s is found, or none", (word, expected) => {
  expect(nearestWord(word, WORDS)).toBe(expected);
});

test("the nearest word is suggested, and the first of several", () => {
  expect(nearestWord("cmd_vle", ["cmd_val", "cmd_vel", "cmd_vec"])).toBe("cmd_vel");
  expect(nearestWord("camera_3", ["camera_1", "camera_2"])).toBe("camera_1");
  expect(nearestWord("a", [])).toBeUndefined();
});
