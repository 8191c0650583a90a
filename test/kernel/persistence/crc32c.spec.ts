import { crc32c } from "../../../assembly/persistence/crc32c";

const bytes: usize = memory.data(128, 16);

/** Computes the checksum bit by bit from the polynomial. */
function bitwise(crc: u32, at: usize, length: u32): u32 {
  let c = ~crc;
  for (let i: usize = 0; i < <usize>length; i++) {
    c ^= load<u8>(at + i);
    for (let bit = 0; bit < 8; bit++) c = (c & 1) != 0 ? (c >> 1) ^ 0x82f63b78 : c >> 1;
  }
  return ~c;
}

function write(text: string): u32 {
  for (let i = 0; i < text.length; i++) store<u8>(bytes + <usize>i, text.charCodeAt(i));
  return text.length;
}

describe("crc32c", () => {
  it("returns the check value of 123456789", () => {
    expect<u32>(crc32c(0, bytes, write("123456789"))).toBe(0xe3069283);
    expect<u32>(crc32c(0, bytes, write("a"))).toBe(0xc1d04330);
    expect<u32>(crc32c(0, bytes, 0)).toBe(0);
  });

  it("returns the vectors of RFC 3720, B.4", () => {
    memory.fill(bytes, 0, 32);
    expect<u32>(crc32c(0, bytes, 32)).toBe(0x8a9136aa, "32 zeros");
    memory.fill(bytes, 255, 32);
    expect<u32>(crc32c(0, bytes, 32)).toBe(0x62a8ab43, "32 ones");
    for (let i: usize = 0; i < 32; i++) store<u8>(bytes + i, <u8>i);
    expect<u32>(crc32c(0, bytes, 32)).toBe(0x46dd794e, "ascending");
    for (let i: usize = 0; i < 32; i++) store<u8>(bytes + i, <u8>(31 - i));
    expect<u32>(crc32c(0, bytes, 32)).toBe(0x113fdb5c, "descending");
  });

  it("equals the bitwise checksum at every length and alignment", () => {
    for (let i: usize = 0; i < 128; i++) store<u8>(bytes + i, <u8>(i * 151 + 17));
    for (let offset: u32 = 0; offset < 9; offset++) {
      for (let length: u32 = 0; length < 70; length++) {
        assert(crc32c(0, bytes + offset, length) == bitwise(0, bytes + offset, length), "as one bit at a time");
      }
    }
    expect<u32>(crc32c(0, bytes, 128)).toBe(bitwise(0, bytes, 128));
  });

  it("continues from a previous checksum", () => {
    const whole = crc32c(0, bytes, 100);
    for (let cut: u32 = 0; cut <= 100; cut++) assert(crc32c(crc32c(0, bytes, cut), bytes + cut, 100 - cut) == whole, "goes on");
    expect<u32>(crc32c(crc32c(0, bytes, 33), bytes + 33, 67)).toBe(whole);
  });

  it("detects any changed bit", () => {
    const whole = crc32c(0, bytes, 64);
    for (let bit: u32 = 0; bit < 512; bit++) {
      const at = bytes + <usize>(bit >> 3);
      const flip = (<u8>1) << (<u8>(bit & 7));
      store<u8>(at, load<u8>(at) ^ flip);
      assert(crc32c(0, bytes, 64) != whole, "another bit");
      store<u8>(at, load<u8>(at) ^ flip);
    }
    expect<u32>(crc32c(0, bytes, 64)).toBe(whole);
  });
});
