/** Reads the counters of a table, and single items. */
import { DISTINCT, NEWEST } from "../selectors/selector";
import { admitPending, MIXED, removeItem, Table } from "./table";

/** The counters, numbered as in src/base/abi.ts. */
const SIZE: u32 = 0;
const STEPS: u32 = 1;
const PENDING: u32 = 2;
const INSERTS: u32 = 3;
const SAMPLES: u32 = 4;
const DELETES: u32 = 5;
const UNIQUE_SAMPLES: u32 = 6;
const EPISODES: u32 = 7;
const DELETED_EPISODES: u32 = 8;
const RETIRED_SLOTS: u32 = 9;
/** The column layout of all items that were created since the table was last empty; -1 if these items had several layouts. */
const LAYOUT: u32 = 10;
/** The lengths of the longest and the shortest item that were created since the table was last empty; the shortest is measured as a transition. */
const LONGEST: u32 = 11;
const SHORTEST: u32 = 12;
const MAX_PRIORITY: u32 = 13;

/** Returns a counter by number. */
export function table_counter(table: usize, which: u32): f64 {
  const t = changetype<Table>(table);
  switch (which) {
    case SIZE:
      return t.count;
    case STEPS:
      return t.steps;
    case PENDING:
      return t.pending;
    case INSERTS:
      return <f64>t.limiter().inserts;
    case SAMPLES:
      return <f64>t.limiter().samples;
    case DELETES:
      return <f64>(t.limiter().inserts - t.count);
    case UNIQUE_SAMPLES:
      return t.unique;
    case EPISODES:
      return t.episodes().count;
    case DELETED_EPISODES:
      return t.deletedEpisodes;
    case RETIRED_SLOTS:
      return t.slots().retired;
    case LAYOUT:
      return (t.mixed & MIXED) != 0 ? -1 : <f64>t.layout;
    case LONGEST:
      return t.longest;
    case SHORTEST:
      return t.shortest;
    case MAX_PRIORITY:
      return t.maxPriority;
    default:
      return NaN;
  }
}

/** Returns the address of the column layouts of the slots: u32 each, from slot 0 on; 0 if the array does not exist, because no item needed it. */
export function table_layouts(table: usize): u32 {
  return changetype<Table>(table).slots().layouts;
}

/**
 * Writes the properties of the item of a key: first row, length, timesSampled, whether it is pending, priority, probability (f64 each). The
 * timesSampled and the probability of a pending item are 0. Returns false if the item is gone.
 */
export function table_item(table: usize, key: f64, out: usize): bool {
  const t = changetype<Table>(table);
  const slot = t.slots().find(key);
  if (slot == 0) return false;
  const item = t.slots().item(slot);
  const pending = t.slots().isPending(slot);
  store<f64>(out, item.first);
  store<f64>(out, item.length(), 8);
  store<f64>(out, pending ? 0 : item.timesSampled, 16);
  store<f64>(out, u32(pending), 24);
  store<f64>(out, Math.abs(t.slots().priority(slot)), 32);
  store<f64>(out, pending ? 0 : t.sampler().probability(slot, t.count), 40);
  return true;
}

/**
 * Returns how many of n draws pass now, whichever items they pick. `flags`: 1 without replacement, 4 among the newest; `among`: from the k oldest, or newest, 0
 * for all. `counts`: scratch for u32 × (1 + min(n, maxTimesSampled)), if maxTimesSampled is set. O(1), or O(n + slots) if removed items may end the draws
 * early. The result does not account for waiting items that enter and, because of `maxSteps`, replace several other items.
 */
export function table_sure(table: usize, n: u32, flags: u32, among: u32, counts: usize): u32 {
  const t = changetype<Table>(table);
  const distinct = (flags & DISTINCT) != 0;
  let sure = t.limiter().samplesAllowed(n, t.count);
  if (sure == 0) return 0;
  if (distinct) sure = t.sampler().drawable(t.remover(), among == 0 ? t.count : min(among, t.count), t.count, (flags & NEWEST) != 0, sure, t.slots().high);
  if (t.maxTimesSampled == 0) return sure;
  // After this many items are removed, too few are left.
  const spare = t.count - <u32>Math.ceil(t.limiter().options().minSize) + 1;
  if (sure <= spare) return sure;
  return distinct ? (lastUses(t) < spare ? sure : spare) : usesOf(t, spare, sure, counts);
}

/** Returns the number of items that their next draw would remove. */
function lastUses(t: Table): u32 {
  let n: u32 = 0;
  for (let slot: u32 = 1; slot <= t.slots().high; slot++) n += u32(t.slots().isLive(slot) && t.slots().item(slot).timesSampled + 1 >= t.maxTimesSampled);
  return n;
}

/** Returns the minimum number of draws, at most n, that can remove `items` items: in the worst case, the items with the fewest uses left. */
function usesOf(t: Table, items: u32, n: u32, counts: usize): u32 {
  const most = min(t.maxTimesSampled, n);
  memory.fill(counts, 0, (<usize>most + 1) << 2);
  for (let slot: u32 = 1; slot <= t.slots().high; slot++) {
    if (!t.slots().isLive(slot)) continue;
    const at = counts + ((<usize>min(t.maxTimesSampled - t.slots().item(slot).timesSampled, most)) << 2);
    store<u32>(at, load<u32>(at) + 1);
  }
  let draws: u64 = 0;
  for (let uses: u32 = 1; uses <= most && items > 0 && draws < <u64>n; uses++) {
    const some = min(items, load<u32>(counts + ((<usize>uses) << 2)));
    draws += <u64>some * <u64>uses;
    items -= some;
  }
  return <u32>min(draws, <u64>n);
}

/**
 * Removes every live item, and resets the counts of inserts, draws and deletes, and the highest priority, like a Reverb reset. Then lets waiting items in.
 * O(n log n)
 */
export function table_clear(table: usize): void {
  const t = changetype<Table>(table);
  for (let slot: u32 = 1; slot <= t.slots().high; slot++) {
    if (t.slots().isLive(slot)) removeItem(t, slot);
  }
  t.unique = 0;
  t.deletedEpisodes = 0;
  t.maxPriority = 1;
  const limiter = t.limiter();
  limiter.inserts = 0;
  limiter.samples = 0;
  admitPending(t);
}
