/** Keeps V8's heap small in the command line, which creates many short-lived arrays. */
import v8 from "node:v8";

/** The size of the space for new objects, in bytes. V8 would use four times as much space as soon as many new objects survive for a short time. */
const NEW_BYTES = 2 ** 23;
/** Garbage is collected before the heap grows by this percentage of the live objects. */
const GROWTH_PERCENT = 20;
const MAX_OBJECTS = 2 ** 18;

/** Limits the heap, which trades speed for memory. For the measurements, see docs/explain/decisions.md. Engines other than V8 keep their settings. */
export function boundHeap(): void {
  try {
    // V8 enlarges the space for new objects when many of them survive. After the target size is reached, the flag keeps the space at that size.
    const survivors: object[] = [];
    while (newBytes() < NEW_BYTES && survivors.length < MAX_OBJECTS) for (let i = 0; i < 2 ** 12; i++) survivors.push({ i });
    v8.setFlagsFromString("--semi-space-growth-factor=1");
    v8.setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`);
  } catch {
    // This engine does not have these flags.
  }
}

function newBytes(): number {
  return v8.getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space")?.space_size ?? NEW_BYTES;
}
