/** Tests that messages written in parts have the same bytes as messages from the protobuf library. */
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { expect, test } from "vitest";
import { concat } from "../../../../../src/base/bytes.ts";
import { MessageParts } from "../../../../../src/datasets/formats/tfds/message-parts.ts";

const bytesOf = (n: number) => Uint8Array.from({ length: n }, (_, i) => i * 7);

test.each([0, 1, 63, 64, 127, 128, 4096, 4097, 65_535, 65_536, 65_537, 300_000])(
  "fields of %i bytes equal those of the protobuf library, even in nested messages",
  (n) => {
    const parts = new MessageParts();
    const writer = new BinaryWriter();
    for (const length of [3, n, n, 5]) {
      const [inner, outer] = [new MessageParts(), new MessageParts()];
      inner.field(2, bytesOf(length));
      outer.message(3, inner);
      parts.message(1, outer);
      parts.field(16, bytesOf(length));
      const ld = WireType.LengthDelimited;
      writer.tag(1, ld).fork().tag(3, ld).fork().tag(2, ld).bytes(bytesOf(length)).join().join().tag(16, ld).bytes(bytesOf(length));
    }
    const expected = writer.finish();
    expect(parts.length).toBe(expected.length);
    expect(Buffer.from(concat(parts.parts)).equals(expected)).toBe(true);
  },
);

test.each([
  ["flags", Uint8Array.from({ length: 70_000 }, (_, i) => i & 1)],
  ["bytes", Uint8Array.from({ length: 70_000 }, (_, i) => i)],
  ["negative numbers", Int32Array.from({ length: 20_000 }, (_, i) => (i % 2 === 0 ? -i : i * 100_000))],
  ["the largest numbers", Uint32Array.of(0, 127, 128, 2 ** 31, 2 ** 32 - 1)],
  ["64 bits", BigInt64Array.of(0n, -1n, -(2n ** 63n), 2n ** 63n - 1n)],
  ["64 bits without a sign", BigUint64Array.of(0n, 2n ** 63n, 2n ** 64n - 1n)],
  ["nothing", new Int8Array(0)],
])("packed integers equal those of the protobuf library: %s", (_, data) => {
  const parts = new MessageParts();
  parts.varints(data);
  const writer = new BinaryWriter();
  for (const value of data) writer.int64(BigInt.asIntN(64, BigInt(value)));
  const expected = writer.finish();
  expect(parts.length).toBe(expected.length);
  expect(Buffer.from(concat(parts.parts)).equals(expected)).toBe(true);
});

test("large values are not copied", () => {
  const value = bytesOf(10_000);
  const parts = new MessageParts();
  parts.field(1, value);
  expect(parts.parts.at(-1)?.buffer).toBe(value.buffer);
});
