/** How V8 keeps the heap of the command line small, whose rows are arrays that live for a moment. */
import v8 from "node:v8";

/** The room for new objects. V8 would take four times as much as soon as many of them stay alive for a moment. */
const NEW_BYTES = 2 ** 23;
/** Garbage is collected before the heap has grown by this percentage of the live objects. */
const GROWTH_PERCENT = 20;
const MAX_OBJECTS = 2 ** 18;

/** Memory for speed: measured in docs/explain/decisions.md. Another engine stays as it is. */
export function boundHeap(): void {
  try {
    // V8 makes the room for new objects larger when they survive; from here on it stays.
    const survivors: object[] = [];
    while (newBytes() < NEW_BYTES && survivors.length < MAX_OBJECTS) for (let i = 0; i < 2 ** 12; i++) survivors.push({ i });
    v8.setFlagsFromString("--semi-space-growth-factor=1");
    v8.setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`);
  } catch {
    // It has no such flags.
  }
}

function newBytes(): number {
  return v8.getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space")?.space_size ?? NEW_BYTES;
}
