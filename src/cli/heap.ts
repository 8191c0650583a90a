/** Keeps V8's heap small in the command line, which creates many short-lived arrays. */
import v8 from "node:v8";

/**
 * The target size of the space for new objects, in bytes. By default, V8 enlarges this space to four times that size when many new objects survive for a short
 * time.
 */
const NEW_BYTES = 2 ** 23;
/** The percentage of the live objects by which the heap may grow before garbage is collected. */
const GROWTH_PERCENT = 20;
/** The maximum number of objects to create in order to enlarge the space for new objects. */
const MAX_OBJECTS = 2 ** 18;

/** Limits the heap to save memory, at the cost of speed. For the measurements, see docs/explain/decisions.md. Engines other than V8 keep their settings. */
export function boundHeap(): void {
  try {
    // V8 enlarges the space for new objects only when many of them survive. The growth factor of 1 then keeps the space at the target size.
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
