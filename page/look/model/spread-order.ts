/** Determines the order in which a sample of episodes is read: the first episode, and then episodes that keep the sample spread about evenly. */

/** Yields 0, 1/2, 1/4, 3/4, 1/8, … of `count`, each number once (van der Corput's sequence in base 2). */
export function* spreadOrder(count: number): Generator<number, void, undefined> {
  const bits = Math.max(1, Math.ceil(Math.log2(Math.max(count, 2))));
  for (let i = 0; i < 2 ** bits; i++) {
    let turned = 0;
    for (let bit = 0, rest = i; bit < bits; bit++, rest >>>= 1) turned = turned * 2 + (rest & 1);
    if (turned < count) yield turned;
  }
}
