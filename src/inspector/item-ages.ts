/** Ages of items, computed from their slots: if the oldest leaves first, slots are reused in turn, and a key tells the number of the turn. */

export interface Newest {
  readonly slot: number;
  readonly key: number;
}

/**
 * Of each item how many came after it. NaN for one that stands out of turn, as after deletions in the middle: most of those that stand behind the newest item's slot
 * are of the turn before.
 * @param high the highest slot ever used
 * @param previousTurn what a key is above its slot in the turn before; NaN where that is not known
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

/** What keys of the turn before the newest item's are above their slots: what most have that stand behind it. NaN where none does. */
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
