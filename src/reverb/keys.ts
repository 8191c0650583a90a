/** Keys of items, chunks and episodes: random numbers of 64 bits, as all clients of a server make them. */

const POOL = new BigUint64Array(512);
let usedBytes = POOL.length;

export function randomKey(): bigint {
  if (usedBytes === POOL.length) {
    crypto.getRandomValues(POOL);
    usedBytes = 0;
  }
  return POOL[usedBytes++] as bigint;
}
