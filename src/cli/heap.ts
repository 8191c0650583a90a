/** Keeps V8's heap small in the command line, whose rows are short-lived arrays. */
import v8 from "node:v8";

/** The space for new objects. V8 would use four times as much space as soon as many new objects stay alive briefly. */
const NEW_BYTES = 2 ** 23;
/** Garbage is collected before the heap grows by this share of the live objects. */
const GROWTH_PERCENT = 20;
const MAX_OBJECTS = 2 ** 18;

/** Trades speed for memory; docs/explain/decisions.md has the measurements. Other engines keep their settings. */
export function boundHeap(): void {
  try {
    // V8 enlarges the space for new objects when many of them survive. From here on, the space keeps its size.
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
