/** Reads SLOT records (assembly/persistence/slot.ts). */
import { dataView } from "../../base/bytes.ts";
import { COUNT_BYTES } from "../../memory/state.ts";

/** The offsets in a SLOT. */
export const AT = { first: 4, length: 8, generation: 12, timesSampled: 16, layout: 20, priority: 24 } as const;
export const NUMBERS_BYTES = 32;
const PENDING = 0x80000000;
/** Calls `take` with the offset of each record. Returns false if the payload is not a section of records. */
export function eachRecord(payload: Uint8Array, bytes: number, take: (from: number) => void): boolean {
  const count = payload.length < COUNT_BYTES ? 0 : dataView(payload).getUint32(0, true);
  if (payload.length !== COUNT_BYTES + count * bytes) return false;
  for (let i = 0; i < count; i++) take(COUNT_BYTES + i * bytes);
  return true;
}

export function isUsed(slot: DataView): boolean {
  return slot.getFloat64(AT.priority, true) < Number.POSITIVE_INFINITY;
}

export function isPending(slot: DataView): boolean {
  return (slot.getUint32(AT.priority + 4, true) & PENDING) !== 0;
}

export function isLive(slot: DataView): boolean {
  return isUsed(slot) && !isPending(slot);
}

export function freeRecord(slot: number, generation: number, next: number, bytes: number): DataView {
  const view = new DataView(new ArrayBuffer(bytes));
  view.setUint32(0, slot, true);
  view.setUint32(AT.first, next, true);
  view.setUint32(AT.generation, generation, true);
  view.setFloat64(AT.priority, Number.POSITIVE_INFINITY, true);
  return view;
}
