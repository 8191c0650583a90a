/** A seeded stream of numbers in [0, 1): Mulberry32, by Tommy Ettinger. Its `state` is a seed that continues it. */
export function seeded(seed) {
  const next = () => {
    next.state = (next.state + 0x6d2b79f5) | 0;
    let bits = Math.imul(next.state ^ (next.state >>> 15), next.state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
  next.state = seed;
  return next;
}
