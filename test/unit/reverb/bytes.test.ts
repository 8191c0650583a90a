/** Compares encoded numbers, texts and nests with a protobuf library. */
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BytesReader } from "../../../src/reverb/wire/bytes-reader.ts";
import { BytesWriter } from "../../../src/reverb/wire/bytes-writer.ts";
import { anyCharacter } from "../../support/any-character.ts";
import { scaled } from "../../support/size.ts";

const runs = { numRuns: scaled(2000) };
const uint64 = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  fc.nat({ max: 64 }).map((bits) => BigInt.asUintN(64, (1n << BigInt(bits)) - 1n)),
);
const int32 = fc.oneof(fc.integer(), fc.constantFrom(0, 1, -1, 127, 128, -128, 2 ** 31 - 1, -(2 ** 31)));
const whole = fc.oneof(fc.maxSafeInteger(), fc.constantFrom(-1, 2 ** 32 - 1, 2 ** 32, 2 ** 53 - 1, -(2 ** 53 - 1)));

function written(write: (writer: BytesWriter) => void): Uint8Array {
  const writer = new BytesWriter(1);
  write(writer);
  return writer.take();
}

function reader(bytes: Uint8Array): BytesReader {
  const made = new BytesReader(bytes, "Message");
  made.tag();
  return made;
}

describe("numbers", () => {
  it("uint64 of all lengths are written and read", () => {
    fc.assert(
      fc.property(uint64, fc.integer({ min: 1, max: 5000 }), (value, field) => {
        const bytes = written((writer) => writer.uint64(field, value));
        const twin = value === 0n ? new Uint8Array() : new BinaryWriter().tag(field, WireType.Varint).uint64(value).finish();
        expect(bytes).toEqual(twin);
        if (value !== 0n) expect(reader(bytes).uint64()).toBe(value);
      }),
      runs,
    );
  });

  it("int32 are written and read, including negative numbers", () => {
    fc.assert(
      fc.property(int32, (value) => {
        const bytes = written((writer) => writer.int32(3, value));
        if (value === 0) {
          expect(bytes.length).toBe(0);
          return;
        }
        expect(bytes).toEqual(new BinaryWriter().tag(3, WireType.Varint).int32(value).finish());
        expect(reader(bytes).int32()).toBe(value);
      }),
      runs,
    );
  });

  it("int64 are written and read as numbers", () => {
    fc.assert(
      fc.property(whole, (value) => {
        const bytes = written((writer) => writer.int64(3, value));
        if (value === 0) {
          expect(bytes.length).toBe(0);
          return;
        }
        expect(bytes).toEqual(new BinaryWriter().tag(3, WireType.Varint).int64(value).finish());
        expect(reader(bytes).int64()).toBe(value);
      }),
      runs,
    );
  });

  it("doubles are written and read, including -0", () => {
    fc.assert(
      fc.property(fc.oneof(fc.double(), fc.constant(-0)), (value) => {
        const bytes = written((writer) => writer.double(5, value));
        if (Object.is(value, 0)) {
          expect(bytes.length).toBe(0);
          return;
        }
        expect(bytes).toEqual(new BinaryWriter().tag(5, WireType.Bit64).double(value).finish());
        expect(reader(bytes).double()).toBe(value);
      }),
      runs,
    );
  });
});

it("strings are written and read as in the reference library", () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), (value) => {
      const bytes = written((writer) => writer.string(2, value));
      if (value === "") {
        expect(bytes.length).toBe(0);
        return;
      }
      const twin = new BinaryWriter().tag(2, WireType.LengthDelimited).string(value).finish();
      expect(bytes).toEqual(twin);
      expect(reader(bytes).string()).toBe(new BinaryReader(twin.subarray(1)).string());
    }),
    runs,
  );
});

it("a message writer writes packed lists, messages and bytes, with space before the message", () => {
  fc.assert(
    fc.property(fc.array(uint64), fc.uint8Array({ maxLength: 300 }), (values, content) => {
      const writer = new BytesWriter(1);
      writer.bytes(2, content);
      writer.packedInts(1, values);
      writer.message(7, 0);
      const bytes = writer.take(5);
      const twin = new BinaryWriter().tag(7, WireType.LengthDelimited).fork();
      if (values.length > 0) {
        twin.tag(1, WireType.LengthDelimited).fork();
        for (const value of values) twin.uint64(value);
        twin.join();
      }
      if (content.length > 0) twin.tag(2, WireType.LengthDelimited).bytes(content);
      expect(bytes.subarray(5)).toEqual(twin.join().finish());
      expect(writer.length).toBe(0);
    }),
    runs,
  );
});

describe("malformed messages throw CORRUPT", () => {
  const refused = (bytes: readonly number[], read: (reader: BytesReader) => unknown, why: string) => () =>
    expect(() => read(new BytesReader(Uint8Array.from(bytes), "Message"))).toThrow(
      expect.objectContaining({ code: "CORRUPT", message: expect.stringContaining(why) }),
    );
  const field = (read: (reader: BytesReader) => unknown) => (at: BytesReader) => [at.tag(), read(at)];

  it(
    "a number that is cut off",
    refused(
      [0x08, 0x80],
      field((at) => at.int32()),
      "a Message cannot be read at byte 2 of 2: it ends within a number",
    ),
  );
  it(
    "a number of more than 64 bits",
    refused(
      [0x08, ...Array(9).fill(0xff), 0x02],
      field((at) => at.uint64()),
      "more than 64 bits",
    ),
  );
  it(
    "a number of eleven bytes",
    refused(
      [0x08, ...Array(10).fill(0x80), 0x01],
      field((at) => at.uint64()),
      "more than 64 bits",
    ),
  );
  it(
    "a length beyond the end of the message",
    refused(
      [0x0a, 0x05, 1],
      field((at) => at.bytes()),
      "5 bytes should follow, but 1 remain",
    ),
  );
  it(
    "a length beyond the end of the nested message",
    refused(
      [0x0a, 0x02, 0x0a, 0x05, 1, 2, 3, 4, 5],
      field((at) => [at.enter(), at.tag(), at.bytes()]),
      "5 bytes should follow, but 0 remain",
    ),
  );
  it(
    "field 0",
    refused([0x02, 0x00], (at) => at.tag(), "it has a field 0"),
  );
  it(
    "groups",
    refused(
      [0x0b],
      field((at) => at.skip(0x0b)),
      "field 1 has wire type 3",
    ),
  );
  it(
    "a double that is cut off",
    refused(
      [0x09, 1, 2, 3, 4, 5],
      field((at) => at.double()),
      "4 bytes should follow, but 1 remain",
    ),
  );
  it(
    "text that is not UTF-8",
    refused(
      [0x0a, 0x01, 0xff],
      field((at) => at.string()),
      "a string is not valid UTF-8",
    ),
  );
});

it("a reader skips unknown fields of every wire type", () => {
  const twin = new BinaryWriter()
    .tag(90, WireType.Varint)
    .uint64(2n ** 64n - 1n)
    .tag(91, WireType.Bit32)
    .float(1)
    .tag(92, WireType.Bit64)
    .double(1);
  const bytes = twin.tag(93, WireType.LengthDelimited).string("x").tag(1, WireType.Varint).int32(7).finish();
  const at = new BytesReader(bytes, "Message");
  let found = 0;
  for (let tag = at.tag(); tag !== 0; tag = at.tag()) {
    if (tag === 8) found = at.int32();
    else at.skip(tag);
  }
  expect(found).toBe(7);
});
