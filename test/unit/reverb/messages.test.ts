/** Tests recorded messages of the real Reverb: reading them, writing them, and reading damaged ones. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { codeOf } from "../../../src/base/error.ts";
import { BytesWriter } from "../../../src/reverb/wire/bytes-writer.ts";
import { readServerInfo } from "../../../src/reverb/wire/server-info.ts";
import type { Structure } from "../../../src/reverb/wire/structure.ts";
import { KINDS, type Recorded } from "../../conformance/wire/messages.ts";
import { TestRandom } from "../../support/random.ts";
import { scaled, stride } from "../../support/size.ts";

const folder = join(import.meta.dirname, "../../conformance/reverb-wire");
const recorded: { readonly [file: string]: Recorded } = JSON.parse(readFileSync(join(folder, "decoded.json"), "utf8"));
const bytesOf = (file: string) => new Uint8Array(readFileSync(join(folder, file)));
// Only clients in the server's process send this message.
const files = Object.entries(recorded).filter(([, { message }]) => message !== "InitializeConnectionRequest");

describe.each(files)("%s", (file, { message, decoded }) => {
  const { told, read, written } = KINDS[message] as (typeof KINDS)[string];
  const bytes = bytesOf(file);

  it.runIf(read !== undefined)("is decoded to the recorded values", () => {
    expect(read?.(bytes)).toEqual(told(decoded));
  });

  it.runIf(written !== undefined)("is encoded byte for byte", () => {
    expect(Buffer.from(written?.(decoded) as Uint8Array).toString("hex")).toBe(Buffer.from(bytes).toString("hex"));
  });

  it.runIf(read !== undefined)("throws CORRUPT or decodes to another message if it is cut or changed", () => {
    const random = new TestRandom(bytes.length);
    const outcomes = { corrupt: 0, other: 0 };
    const attempt = (mutant: Uint8Array) => {
      try {
        read?.(mutant);
        outcomes.other++;
      } catch (error) {
        if (codeOf(error) !== "CORRUPT" || !String(error).includes("cannot be read at byte")) throw error;
        outcomes.corrupt++;
      }
    };
    for (let length = 1; length < bytes.length; length += stride(1)) attempt(bytes.subarray(0, length));
    // A cut between two fields of the outermost message cannot be detected.
    expect(outcomes.corrupt).toBeGreaterThan(outcomes.other);
    for (let i = scaled(2000); i > 0; i--) {
      const mutant = bytes.slice();
      for (let n = 1 + random.below(3); n > 0; n--) mutant[random.below(mutant.length)] = random.below(256);
      attempt(mutant);
    }
  });
});

it("all 18 recorded messages are tested", () => {
  expect(files.length).toBe(18);
});

it("a deeply nested signature throws before the stack overflows", () => {
  const nested = (depth: number) => {
    const writer = new BytesWriter();
    for (let i = 0; i < depth; i++) {
      // Each level is a StructuredValue whose list_value contains one value.
      writer.message(51, 0);
      writer.message(1, 0);
    }
    writer.message(51, 0);
    writer.message(6, 0);
    writer.message(2, 0);
    return writer.take();
  };
  let at = readServerInfo(nested(60)).tables[0]?.signature;
  for (let i = 0; i < 60; i++) at = (at as { readonly parts: readonly Structure[] }).parts[0];
  expect(at).toEqual({ kind: "list", parts: [] });
  expect(() => readServerInfo(nested(10_000))).toThrow("nested more than 64 levels deep");
});
