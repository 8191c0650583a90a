/**
 * Describes a writer for hosts that accept remote writers, and defines the two calls that end its episodes without a step.
 *
 * WRITER, 48 bytes, then NAMED × tables, u32 × rules, LEAF × leaves:
 *    0 │ lanes u32       │ keep u32        │  steps in its window, per lane
 *    8 │ across u32      │ autoreset u32   │  0 not set, 1 disabled, 2 nextStep, 3 sameStep
 *   16 │ transitions u32 │ reward u32      │  1: some rule makes transitions or sequences · the leaf whose values must be finite, by its number + 1
 *   24 │ path u32        │ pathBytes u32   │  the role `observation`
 *   32 │ tables u32      │ rules u32       │
 *   40 │ leaves u32      │ shares u32      │  · the names under which leaves share values
 *
 * NAMED, 16 bytes: │ name u32 │ bytes u32 │ f64, the priority that "max" means │; a rule is the number of its table
 * LEAF, 16 bytes: │ share u32 │ frames u32 │ frameBytes u32 │ observes u32 │
 *   share: number + 1 of the name under which its values are shared, 0 for none · frames: frames of a value · frameBytes: bytes of a frame in hosts · observes: 1 if the leaf has that role
 */
import { E_UNSUPPORTED } from "../memory/error";
import { isHalf } from "../rows/leaf";
import { countLanes } from "../rows/packed-frame";
import { Table } from "../tables/table";
import { table_discard, writer_discard } from "../writer/discard";
import { writer_close } from "../writer/ends";
import { writer_stream } from "../writer/writer";
import { noLane } from "./append";
import { noRoomToTell } from "./describe";
import { Field } from "./field";
import { CLOSED, NOT_FOUND, Refusal } from "./refusal";
import { DESCRIPTION, opened } from "./root";
import { TableOptions } from "./table-options";
import { numberIn, OBSERVATION, REWARD, Role } from "./transition-roles";
import { ItemRule, writerOf } from "./writer-options";

const WRITER_BYTES: u32 = 48;
const NAMED_BYTES: u32 = 16;
const LEAF_BYTES: u32 = 16;

@unmanaged
class WriterDescription {
  lanes: u32;
  keep: u32;
  across: u32;
  autoreset: u32;
  transitions: u32;
  reward: u32;
  path: u32;
  pathBytes: u32;
  tables: u32;
  rules: u32;
  leaves: u32;
  shares: u32;
}
if (offsetof<WriterDescription>() != WRITER_BYTES) ERROR("WRITER is 48 bytes");

@unmanaged
class LeafDescription {
  share: u32;
  frames: u32;
  frameBytes: u32;
  observes: u32;
}
if (offsetof<LeafDescription>() != LEAF_BYTES) ERROR("LEAF is 16 bytes");

/** Returns WRITER of a writer, which is valid until the next call that describes something. Returns 0 if the call is refused. */
export function replay_writer(handle: u32, writer: u32): u32 {
  const root = opened(handle);
  if (root === null) return 0;
  const options = writerOf(writer);
  if (options === null) return 0;
  const tables = root.tables().count;
  const leaves = root.fields().count;
  const at = root.region(DESCRIPTION, WRITER_BYTES + NAMED_BYTES * tables + 4 * options.rules + LEAF_BYTES * leaves);
  if (at == 0) return noRoomToTell();
  const description = changetype<WriterDescription>(at);
  description.lanes = options.lanes;
  description.keep = options.keep;
  description.across = options.across;
  description.autoreset = options.autoreset;
  description.transitions = options.transitions;
  description.reward = options.finite != 0 ? <u32>numberIn(REWARD) + 1 : 0;
  const observation = Role.of(OBSERVATION);
  description.path = observation.path;
  description.pathBytes = observation.bytes;
  description.tables = tables;
  description.rules = options.rules;
  description.leaves = leaves;
  description.shares = root.shares().count;
  let to = <u32>at + WRITER_BYTES;
  for (let i: u32 = 0; i < tables; i++, to += NAMED_BYTES) {
    const table = TableOptions.of(i);
    store<u32>(to, table.name);
    store<u32>(to, table.bytes, 4);
    store<f64>(to, changetype<Table>(<usize>table.handle).maxPriority, 8);
  }
  for (let k: u32 = 0; k < options.rules; k++, to += 4) store<u32>(to, ItemRule.of(options.first + k).table);
  for (let i: u32 = 0; i < leaves; i++, to += LEAF_BYTES) {
    const field = Field.of(i);
    const leaf = changetype<LeafDescription>(to);
    leaf.share = field.shared;
    leaf.frames = field.frames;
    leaf.frameBytes = field.frameBytes() << isHalf(field.dtype);
    leaf.observes = u32(observation.has(field));
  }
  return <u32>at;
}

/** Deletes the items that begin in the open episode of a lane, and releases its steps. Returns the number of deleted items, or a code if nothing changed. */
export function replay_discard(handle: u32, writer: u32, lane: u32): i32 {
  const root = opened(handle);
  if (root === null) return CLOSED;
  const options = writerOf(writer);
  if (options === null) return NOT_FOUND;
  if (lane >= options.lanes) return noLane(options, lane);
  if (options.across != 0)
    return Refusal.of(E_UNSUPPORTED).put("a writer with across cannot discard episodes, because items may span them. Delete items by their keys").code;
  let items = 0;
  for (let i: u32 = 0; i < root.tables().count; i++) items += table_discard(TableOptions.of(i).handle, writer_stream(options.handle, lane));
  writer_discard(options.handle, lane);
  root.changes += 1;
  return items;
}

/**
 * Truncates the open episodes of all lanes, as closing does: with nStep or sequence rules, the newest step becomes the final one. The writer remains usable.
 * Returns 0, or a code.
 */
export function replay_truncate(handle: u32, writer: u32): i32 {
  const root = opened(handle);
  if (root === null) return CLOSED;
  const options = writerOf(writer);
  if (options === null) return NOT_FOUND;
  writer_close(options.handle);
  // The writer remains open, so its share of the caches of packed frames is restored.
  countLanes(options.writer().stream(0).rows(), options.lanes);
  root.changes += 1;
  return 0;
}
