/** Finds the known word that is nearest to an unknown one, for suggestions in error messages. */

/** The maximum length of words that are compared letter by letter. Longer words are compared only for equality. */
const MAX_LENGTH = 200;

/** Returns the known word with the fewest different letters; undefined if no known word is similar. O(words · length²) */
export function nearestWord(word: string, words: Iterable<string>): string | undefined {
  const own = word.toLowerCase();
  let nearest: string | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const other of words) {
    const distance = editsBetween(own, other.toLowerCase());
    const isNear = distance <= Math.max(1, Math.floor(Math.max(own.length, other.length) / 3)) && distance < Math.min(own.length, other.length);
    if (isNear && distance < least) {
      least = distance;
      nearest = other;
    }
  }
  return nearest;
}

/** Returns the number of letters added, removed or replaced, and of adjacent letters swapped. */
function editsBetween(a: string, b: string): number {
  if (a.length > MAX_LENGTH || b.length > MAX_LENGTH) return a === b ? 0 : Number.POSITIVE_INFINITY;
  let beforeThat: readonly number[] = [];
  let before: readonly number[] = Array.from({ length: b.length + 1 }, (_, k) => k);
  for (let i = 1; i <= a.length; i++) {
    const edits = [i];
    for (let k = 1; k <= b.length; k++) {
      const replaced = (before[k - 1] as number) + (a[i - 1] === b[k - 1] ? 0 : 1);
      const isSwapped = i > 1 && k > 1 && a[i - 1] === b[k - 2] && a[i - 2] === b[k - 1];
      const swapped = isSwapped ? (beforeThat[k - 2] as number) + 1 : replaced;
      edits.push(Math.min(replaced, swapped, (before[k] as number) + 1, (edits[k - 1] as number) + 1));
    }
    beforeThat = before;
    before = edits;
  }
  return before[b.length] as number;
}
