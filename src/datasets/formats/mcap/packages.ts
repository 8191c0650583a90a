/** The parts of Foxglove's libraries that are used here: a chunk of its own, loaded when MCAP is read. */
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

// The library takes memory for a sequence before it looks for its elements. Each has a byte at least, so a longer one is damage.
const { sequenceLength } = cdr.CdrReader.prototype;
cdr.CdrReader.prototype.sequenceLength = function (this: InstanceType<typeof cdr.CdrReader>): number {
  const length = sequenceLength.call(this);
  const { view, offset } = this as unknown as Position;
  if (length > view.byteLength - offset) throw new RangeError(`a sequence of ${length} elements in the last ${view.byteLength - offset} bytes`);
  return length;
};
