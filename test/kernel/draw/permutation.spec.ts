import { Permutation, placesOf } from "../../../assembly/draw/permutation";

const order = changetype<Permutation>(memory.data(64, 16));

describe("a permutation", () => {
  it("contains each number once, at every size up to 600 and around powers of 2", () => {
    const sizes: u32[] = [1023, 1024, 1025, 65535, 65536, 65537, 1 << 20];
    for (let n: u32 = 1; n <= 600; n++) sizes.push(n);
    for (let k = 0; k < sizes.length; k++) {
      const places = order.begin(sizes[k], k, 1);
      assert(places == placesOf(sizes[k]) && places >= sizes[k] && places >= 256 && places <= max<u32>(256, 2 * sizes[k] - 1), "places");
      const seen = new StaticArray<bool>(places);
      for (let place: u32 = 0; place < places; place++) {
        const number = order.at(place);
        assert(number < places && !seen[number], "once");
        seen[number] = true;
      }
    }
    expect<bool>(true).toBe(true);
  });

  it("depends only on the seed and the epoch", () => {
    order.begin(1000, 1, 2);
    const first = order.at(0);
    const last = order.at(999);
    let differ = 0;
    for (let epoch: u32 = 0; epoch < 64; epoch++) {
      order.begin(1000, 1, epoch);
      differ += i32(order.at(0) != first);
    }
    for (let seed: u32 = 0; seed < 64; seed++) {
      order.begin(1000, seed, 2);
      differ += i32(order.at(0) != first);
    }
    expect<bool>(differ > 120).toBe(true);
    order.begin(1000, 1, 2);
    expect<bool>(order.at(0) == first && order.at(999) == last).toBe(true);
  });

  it("places numbers and adjacent pairs uniformly (chi-square, 15 and 239 degrees, p > 0.001)", () => {
    const places = new StaticArray<u32>(16 * 16);
    const pairs = new StaticArray<u32>(16 * 16);
    for (let seed: u32 = 0; seed < 16000; seed++) {
      const all = order.begin(16, seed, 0);
      let at = 0;
      let last: u32 = 16;
      for (let place: u32 = 0; place < all; place++) {
        const number = order.at(place);
        if (number >= 16) continue;
        places[at * 16 + number] += 1;
        if (at == 1) pairs[last * 16 + number] += 1;
        last = number;
        at += 1;
      }
    }
    for (let at = 0; at < 16; at++) {
      let chi: f64 = 0;
      for (let number = 0; number < 16; number++) chi += (<f64>places[at * 16 + number] - 1000) ** 2 / 1000;
      expect<f64>(chi).toBeLessThan(37.7 + 6);
    }
    let chi: f64 = 0;
    for (let i = 0; i < 256; i++) if (i % 17 != 0) chi += (<f64>pairs[i] - 16000 / 240) ** 2 / (16000 / 240);
    expect<f64>(chi).toBeLessThan(312);
  });
});
