/** Loads the parts of Foxglove's libraries that are used, as a separate chunk that is loaded only to read MCAP. */
import cdr from "@foxglove/cdr";
import rosmsg from "@foxglove/rosmsg";
import serialization from "@foxglove/rosmsg2-serialization";

export { McapRecordBuilder, McapStreamReader } from "@mcap/core";

export const { parse } = rosmsg;
export const { MessageReader } = serialization;

interface Position {
  readonly view: DataView;
  readonly offset: number;
}

// The library allocates memory for a sequence before it reads its elements. Each element takes at least one byte, so a sequence with more elements than
// remaining bytes is damaged.
const { sequenceLength } = cdr.CdrReader.prototype;
cdr.CdrReader.prototype.sequenceLength = function (this: InstanceType<typeof cdr.CdrReader>): number {
  const length = sequenceLength.call(this);
  const { view, offset } = this as unknown as Position;
  if (length > view.byteLength - offset) throw new RangeError(`a sequence has ${length} elements, but only ${view.byteLength - offset} bytes are left`);
  return length;
};
