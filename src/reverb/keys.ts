/** Keys of items, chunks and episodes: random numbers of 64 bits, as all clients of a server make them. */

const POOL = new BigUint64Array(512);
let used = POOL.length;

export function randomKey(): bigint {
  if (used === POOL.length) {
    crypto.getRandomValues(POOL);
    used = 0;
  }
  return POOL[used++] as bigint;
}
