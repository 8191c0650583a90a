/** Makes keys of items, chunks and episodes: random 64-bit numbers, as in all clients of a server. */

const POOL = new BigUint64Array(512);
let usedBytes = POOL.length;

export function randomKey(): bigint {
  if (usedBytes === POOL.length) {
    crypto.getRandomValues(POOL);
    usedBytes = 0;
  }
  return POOL[usedBytes++] as bigint;
}
