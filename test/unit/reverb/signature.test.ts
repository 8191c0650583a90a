/** Tests signatures of a real server's tables, converted to specs. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { readSignature } from "../../../src/reverb/tensors/signature.ts";
import { readServerInfo } from "../../../src/reverb/wire/server-info.ts";
import type { Structure } from "../../../src/reverb/wire/structure.ts";

const bytes = readFileSync(join(import.meta.dirname, "../../conformance/reverb-wire/server_info.response.bin"));
const signatures = Object.fromEntries(readServerInfo(bytes).tables.map(({ name, signature }) => [name, signature && readSignature(signature)]));

it("readSignature reads missing signatures, dicts, and named tuples in their order", () => {
  expect(signatures.nosig).toBeUndefined();
  expect(signatures.dict).toEqual({
    nest: {
      act: { dtype: "i32", shape: [] },
      nest: { any: { dtype: "string", shape: null }, x: { dtype: "u8", shape: [null, 2, 2] } },
      obs: { dtype: "f32", shape: [null, 3] },
    },
    order: [0, 1, 2, 3],
  });
  const tfa = signatures.tfa;
  expect(Object.keys(tfa?.nest as object)).toEqual(["step_type", "observation", "action", "policy_info", "next_step_type", "reward", "discount"]);
  expect(tfa?.nest).toMatchObject({ policy_info: [], step_type: { dtype: "i32", shape: [null] }, reward: { dtype: "f32", shape: [null] } });
  // Names are in the order action, discount, next_step_type, observation, reward, step_type.
  expect(tfa?.order).toEqual([5, 3, 0, 2, 4, 1]);
});

it("readSignature returns undefined for structures that are not tensor specs", () => {
  const other: Structure = { kind: "dict", parts: [["x", { kind: "other", field: 11 }]] };
  expect(readSignature(other)).toBeUndefined();
  expect(readSignature({ kind: "list", parts: [{ kind: "none" }] })).toBeUndefined();
  expect(readSignature({ kind: "tuple", parts: [] })).toEqual({ nest: [], order: [] });
});
