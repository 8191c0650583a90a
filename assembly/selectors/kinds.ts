/**
 * Lists the kinds of selectors, in the order of SELECTORS in src/schema/selector.ts. Code outside this folder uses the traits of a kind; selector.ts implements
 * the kinds.
 */

export const FIFO: u32 = 1;
export const LIFO: u32 = 2;
export const UNIFORM: u32 = 3;
export const PRIORITIZED: u32 = 4;
export const MIN_HEAP: u32 = 5;
export const MAX_HEAP: u32 = 6;
export const RECENCY: u32 = 7;
/** The number of the last kind. */
export const LAST_KIND: u32 = RECENCY;

/** A flag that is added to a kind that TAKES_MIN: the selector also keeps the smallest weight. */
export const WITH_MIN: u32 = 16;
/** A flag that is added to a remover's kind: the remover shares the sampler's structure, because both kinds are LINKED, or both are the same. */
export const TOGETHER: u32 = 32;
/** The mask of the number of a kind, without the flags. */
export const KIND: u32 = 15;

/** The two lowest bits of a kind's traits: how many words (u32) a record has for a slot's place in a stored order; 0 for a derived order. */
const PLACE_WORDS: u32 = 3;
/** The kind's choice depends only on the items, never on chance. */
export const DETERMINISTIC: u32 = 16;
/** The kind picks in the order of insertion. The links of the order are in the items, so a table has only one such order. */
export const LINKED: u32 = 32;
/** The kind compares stamps, which show the order in which items were last inserted or updated. */
export const COMPARES_STAMPS: u32 = 64;
/** The kind picks in proportion to weights: priority^exponent. */
export const WEIGHS: u32 = 128;
/** The kind has an exponent. */
export const TAKES_EXPONENT: u32 = 256;
/** The kind can keep the smallest weight (WITH_MIN). */
export const TAKES_MIN: u32 = 512;
/** The kind can only be a sampler. */
export const SAMPLES_ONLY: u32 = 1024;

/** Returns the traits of a kind. */
export function traitsOf(kind: u32): u32 {
  switch (kind & KIND) {
    case FIFO:
      return DETERMINISTIC | LINKED | 2;
    case LIFO:
      return DETERMINISTIC | LINKED | 2;
    case UNIFORM:
      return 1;
    case PRIORITIZED:
      return WEIGHS | TAKES_EXPONENT | TAKES_MIN;
    case MIN_HEAP:
      return DETERMINISTIC | COMPARES_STAMPS;
    case MAX_HEAP:
      return DETERMINISTIC | COMPARES_STAMPS;
    case RECENCY:
      return LINKED | TAKES_EXPONENT | SAMPLES_ONLY | 2;
    default:
      return unreachable();
  }
}

/** Returns the word for a kind, which `embed.wasm` reads and writes. The words are in a function, because the core has no data section. */
export function kindName(kind: u32): string {
  switch (kind & KIND) {
    case FIFO:
      return "fifo";
    case LIFO:
      return "lifo";
    case UNIFORM:
      return "uniform";
    case PRIORITIZED:
      return "prioritized";
    case MIN_HEAP:
      return "minHeap";
    case MAX_HEAP:
      return "maxHeap";
    case RECENCY:
      return "recency";
    default:
      return unreachable();
  }
}

export function kindHas(kind: u32, trait: u32): bool {
  return (traitsOf(kind) & trait) != 0;
}

/** Returns the number of words that a slot's place in its order takes in records; 0 if the order is derived. */
export function placeWords(kind: u32): u32 {
  return traitsOf(kind) & PLACE_WORDS;
}

/**
 * Whether a kind always picks the oldest item. A remover of this kind evicts before the new item is inserted. Callers cannot observe this, because such a
 * remover never evicts the new item.
 */
export function isFifo(kind: u32): bool {
  return (kind & KIND) == FIFO;
}
