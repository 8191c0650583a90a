import { power, powerMany } from "../../../assembly/memory/power";

/** Checks the guarantee of assembly/memory/power.ts: a relative error below (4 + |y log2 x|) × 2^-52. */
function close(x: f64, y: f64, want: f64): void {
  const bound = (4 + Math.abs(y * Math.log2(x))) * 2.220446049250313e-16;
  const error = Math.abs(power(x, y) - want) / want;
  if (!(error < bound)) throw new Error(`power(${x}, ${y}) = ${power(x, y)} is off by ${error}, allowed ${bound}`);
}

describe("power", () => {
  it("is close to results of 60 decimal digits", () => {
    close(0.1, 0.6, 0.251188643150958);
    close(3.7, 0.6, 2.1924062650118117);
    close(1e-8, 0.7, 2.5118864315095823e-6);
    close(12345.678, 0.5, 111.11110655555547);
    close(1e300, 0.99, 9.999999999999939e296);
    close(1e-300, 0.9, 9.999999999999847e-271);
    close(1.4142135623730951, -0.4, 0.8705505632961241);
    close(5e-324, 0.25, 1.4908919308538355e-81);
    close(f64.MAX_VALUE, 0.5, 1.3407807929942596e154);
    close(1.0000000000000002, 1000, 1.000000000000222);
    close(256, -0.4, 0.1088188204120155);
    close(7, -1.5, 0.05399492471560389);
    close(2.5, 700, 3.614149143438584e278);
    expect<f64>(power(256, 0.5)).toBe(16);
  });

  it("is continuous at the border between mantissas", () => {
    close(0.7071067811865475, 0.6, 0.8122523963562355);
    close(0.7071067811865476, 0.6, 0.8122523963562356);
    expect<f64>(power(0.9999999999999999, -0.4)).toBe(1);
    expect<f64>(power(1, 0.37)).toBe(1);
    expect<f64>(power(123.456, 0)).toBe(1);
  });

  it("returns exact powers of two", () => {
    for (let k = -1022; k < 1024; k++) {
      const want = reinterpret<f64>((<u64>(k + 1023)) << 52);
      assert(power(2, k) == want, "a power of 2");
      assert(power(want, 1) == want, "to the power of 1");
    }
    expect<f64>(power(2, -1074)).toBe(5e-324, "the least subnormal");
    expect<f64>(power(2, -1074 / 2)).toBe(power(4, -1074 / 4));
  });

  it("agrees with the square root, the product and the quotient", () => {
    let x: f64 = 1.37e-150;
    for (let i = 0; i < 600; i++) {
      close(x, 0.5, Math.sqrt(x));
      close(x, 2, x * x);
      close(x, 1, x);
      close(x, -1, 1 / x);
      x *= 3.1;
    }
    expect<f64>(x).toBeGreaterThan(1e140);
  });

  it("ends at 0 and Infinity", () => {
    expect<f64>(power(10, -400)).toBe(0);
    expect<f64>(power(10, 400)).toBe(Infinity);
    expect<f64>(power(f64.MAX_VALUE, 2)).toBe(Infinity);
    expect<f64>(power(5e-324, 2)).toBe(0);
    expect<f64>(power(2, -1100)).toBe(0);
  });

  it("grows with the priority, even if the priority grows by only a thousandth", () => {
    let x: f64 = 1e-290;
    let last: f64 = 0;
    let steps = 0;
    for (; x < 1e290; x *= 1.001) {
      const weight = power(x, 0.6);
      assert(weight > last, "grows");
      last = weight;
      steps += 1;
    }
    expect<i32>(steps).toBeGreaterThan(1000000);
  });

  it("powerMany returns the same bits as power, for any pair", () => {
    const ends: f64[] = [5e-324, 2.2250738585072014e-308, 2.225073858507201e-308, 1e-160, 0.7071067811865475, 0.7071067811865476, 1, 3.7, 1e155, f64.MAX_VALUE];
    const exponents: f64[] = [-1080, -7.3, -1, -0.4, 0, 0.001, 0.6, 1, 2, 6.9, 1080];
    const numbers = new StaticArray<f64>(3);
    const at = changetype<usize>(numbers);
    let x: f64 = 1.1e-307;
    for (let k = 0; k < 400; k++) {
      x *= 34.567 + <f64>(k % 7);
      for (let e = 0; e < exponents.length; e++) {
        const y = exponents[e];
        const end = ends[(k + e) % ends.length];
        numbers[0] = x;
        numbers[1] = end;
        numbers[2] = 1 / x;
        powerMany(at, 3, y);
        for (let i = 0; i < 3; i++) {
          const from = i == 0 ? x : i == 1 ? end : 1 / x;
          if (reinterpret<u64>(numbers[i]) != reinterpret<u64>(power(from, y)))
            throw new Error(`power(${from}, ${y}) is ${power(from, y)}, and ${numbers[i]} side by side`);
        }
      }
    }
  });
});
