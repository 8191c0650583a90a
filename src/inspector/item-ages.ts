/**
 * Computes the ages of items from their slots. If the oldest items are evicted first, slots are reused in rounds ("turns"), and the key of an item determines
 * its turn.
 */

export interface Newest {
  readonly slot: number;
  readonly key: number;
}

/**
 * Returns the number of newer items for each item, or NaN for an item out of turn, for instance after deletions in the middle. Most items in slots after the
 * slot of the newest item belong to the previous turn.
 * @param high the highest slot ever used
 * @param previousTurn the difference between keys and slots in the previous turn; NaN if unknown
 */
export function agesOf(slots: ArrayLike<number>, keys: ArrayLike<number>, newest: Newest, high: number, previousTurn: number): Float64Array {
  const currentTurn = newest.key - newest.slot;
  const ages = new Float64Array(slots.length);
  for (let i = 0; i < ages.length; i++) {
    const slot = slots[i] as number;
    const turn = (keys[i] as number) - slot;
    if (slot <= newest.slot && turn === currentTurn) ages[i] = newest.slot - slot;
    else if (slot > newest.slot && turn === previousTurn) ages[i] = newest.slot + high - slot;
    else ages[i] = Number.NaN;
  }
  return ages;
}

/**
 * Returns the difference between keys and slots in the turn before the newest item's turn. This is the most frequent difference in the slots after the newest
 * item, or NaN if no item is in these slots.
 */
export function findPreviousTurn(slots: ArrayLike<number>, keys: ArrayLike<number>, newest: Newest): number {
  const counts = new Map<number, number>();
  let mostFrequent = Number.NaN;
  for (let i = 0; i < slots.length; i++) {
    const turn = (keys[i] as number) - (slots[i] as number);
    if ((slots[i] as number) <= newest.slot || turn >= newest.key - newest.slot) continue;
    const count = (counts.get(turn) ?? 0) + 1;
    counts.set(turn, count);
    if (!(count <= (counts.get(mostFrequent) ?? 0))) mostFrequent = turn;
  }
  return mostFrequent;
}
