/** Tests the messages of errors for wrong values. */
import { expect, test } from "vitest";
import { addSentence, mustBe } from "../../../src/base/error.ts";

test("the remedy follows the value, or the rule if there is no value", () => {
  const rule = ["a directory", "Use another one"] as const;
  expect(mustBe(TypeError, "dir", rule, 5).message).toBe("dir must be a directory, got 5. Use another one");
  expect(mustBe(TypeError, "dir", rule, undefined).message).toBe("dir is required: a directory. Use another one");
  expect(mustBe(TypeError, "dir", ["a directory", ""], 5).message).toBe("dir must be a directory, got 5");
});

test("a rule with a full stop in a name stays before the value", () => {
  const { message } = mustBe("SPEC_MISMATCH", "fps", ["30 as in runs/Dr. Smith", "Use another directory"], 60);
  expect(message).toBe("fps must be 30 as in runs/Dr. Smith, got 60. Use another directory");
});

test("the nearest known word is the last sentence", () => {
  const words = ["none", "zstd"];
  expect(mustBe(RangeError, "codec", "one of none, zstd", "zst", words).message).toBe('codec must be one of none, zstd, got "zst". Did you mean "zstd"?');
  expect(mustBe(RangeError, "codec", "one of none, zstd", "other", words).message).toBe('codec must be one of none, zstd, got "other"');
});

test("a sentence follows a full stop, or the question mark of a suggestion", () => {
  const rule = "one of none, zstd";
  const [unknown, near] = ["other", "zst"].map((codec) => mustBe(RangeError, "codec", rule, codec, ["none", "zstd"]).message) as [string, string];
  expect(addSentence(unknown, "Use none")).toBe('codec must be one of none, zstd, got "other". Use none');
  expect(addSentence(near, "Use none")).toBe('codec must be one of none, zstd, got "zst". Did you mean "zstd"? Use none');
});
