/** Defines the calls that append steps, end episodes and create items. */
import { E_FINAL, E_KEYS_EXHAUSTED, E_LENGTH, E_NO_EPISODE, E_OUT_OF_MEMORY, E_PRIORITY, E_RATE_LIMITED, E_REWARD, E_STORED } from "../memory/error";
import { header } from "../memory/layout";
import { LINK_ENDS, LINK_FINAL } from "../rows/row";
import { MAX_LENGTH } from "../tables/slots";
import { writer_append_block } from "../writer/block";
import { ENDS, TERMINATES, TRUNCATES, writer_end, writer_finish } from "../writer/ends";
import { table_insert } from "../writer/item";
import { writer_append } from "../writer/step";
import { writer_stream } from "../writer/writer";
import { Field } from "./field";
import { CLOSED, INVALID, INVALID_DATA, NOT_FOUND, OUT_OF_TURN, Refusal } from "./refusal";
import { opened, outside, Root, WORK } from "./root";
import { blockBytes, checkSteps, narrowStep, writeBlock } from "./step";
import { tableOf } from "./table-options";
import { numberIn, REWARD } from "./transition-roles";
import { NEXT_STEP, WriterOptions, writerOf } from "./writer-options";

/**
 * Appends n packed steps; with several lanes, step i belongs to lane i mod lanes. `ends`: u8 × n, how the lane's episode ends with the step (0 not, 1 without a
 * final step, 2 truncated, 3 terminated), or 0 for no ends. `finals`: packed final steps in order, one for each 2 or 3 in `ends`, or 0 for none. Returns the
 * number of waiting items, or a code if nothing changed.
 */
export function replay_append(handle: u32, writer: u32, steps: usize, n: u32, ends: usize, finals: usize): i32 {
  const root = opened(handle);
  if (root === null) return CLOSED;
  const options = writerOf(writer);
  if (options === null) return NOT_FOUND;
  if (n - 1 >= MAX_LENGTH || n % options.lanes != 0) {
    const refusal = Refusal.of(INVALID).put("n must be an integer from 1 to ").number(MAX_LENGTH);
    if (options.lanes > 1) refusal.put(", and a multiple of the ").number(options.lanes).put(" lanes");
    return refusal.put(", got ").number(n).code;
  }
  if (!root.holds(steps, <f64>root.stepBytes * <f64>n)) return outside("steps", steps, <f64>root.stepBytes * <f64>n);
  if (ends != 0 && !root.holds(ends, n)) return outside("ends", ends, n);
  const ended = countEnds(options, ends, n, finals);
  if (ended < 0) return ended;
  const withFinals = finals != 0 && ended != 0;
  if (withFinals && !root.holds(finals, <f64>root.stepBytes * <f64>ended)) return outside("finals", finals, <f64>root.stepBytes * <f64>ended);
  let code = checkSteps(root, steps, n);
  if (code == 0 && withFinals) code = checkSteps(root, finals, ended);
  if (code == 0 && finals == 0 && cutsUnseen(options, ends, n)) code = mustSee();
  if (code != 0) return code;
  if (n == 1 && ends == 0) code = appendStep(root, options, steps);
  else code = appendBlock(root, options, steps, n, ends, withFinals ? finals : 0, ended);
  return code == E_NO_EPISODE ? endsAlready() : done(root, options, code, 0);
}

/**
 * Ends the episode of a lane. `how`: 1 with its newest step, 2 truncated, 3 terminated; the latter two take a packed final step, which may be 0 (zeros) if the
 * episode terminated. Returns the number of waiting items, or a code if nothing changed.
 */
export function replay_end(handle: u32, writer: u32, lane: u32, how: u32, final: usize): i32 {
  const root = opened(handle);
  if (root === null) return CLOSED;
  const options = writerOf(writer);
  if (options === null) return NOT_FOUND;
  if (lane >= options.lanes) return noLane(options, lane);
  if (how - 1 >= TERMINATES) return Refusal.of(INVALID).put("how must be 1 (without a final step), 2 (truncated) or 3 (terminated), got ").number(how).code;
  if (how == ENDS && options.transitions != 0) return mustSay();
  if (how == ENDS && final != 0) return Refusal.of(INVALID).put("final must be 0 if an episode ends without a final step").code;
  if (how == TRUNCATES && final == 0) return mustSee();
  if (final != 0 && !root.holds(final, root.stepBytes)) return outside("final", final, root.stepBytes);
  if (how == ENDS) {
    writer_end(options.handle, lane);
    return done(root, options, 0, lane);
  }
  const wrong = final == 0 ? 0 : checkSteps(root, final, 1);
  if (wrong != 0) return wrong;
  const staged = final == 0 ? root.region(WORK, <u64>root.stagedBytes) : narrowStep(root, final);
  if (staged == 0) return noMemory();
  if (final == 0) memory.fill(staged, 0, <usize>root.stagedBytes);
  const code = writer_finish(options.handle, lane, staged, how == TERMINATES ? LINK_ENDS : LINK_FINAL);
  return done(root, options, code, lane);
}

/** Makes an item of a lane's last `length` steps. Returns 1 if the item is in the table, 0 if it waits for the rate limiter, or a code if nothing changed. */
export function replay_item(handle: u32, writer: u32, lane: u32, table: u32, length: u32, priority: f64): i32 {
  const root = opened(handle);
  if (root === null) return CLOSED;
  const options = writerOf(writer);
  if (options === null) return NOT_FOUND;
  const into = tableOf(table);
  if (into === null) return NOT_FOUND;
  if (lane >= options.lanes) return noLane(options, lane);
  if (length - 1 >= MAX_LENGTH) return Refusal.of(INVALID).put("length must be an integer from 1 to ").number(MAX_LENGTH).put(", got ").number(length).code;
  const code = table_insert(into.handle, writer_stream(options.handle, lane), length, 0, priority);
  return done(root, options, code, lane);
}

/** Ends a call that may have changed something: returns the core's result, or refuses with the reason. */
function done(root: Root, options: WriterOptions, code: i32, lane: u32): i32 {
  if (code < 0) return refusedStep(options, code, lane);
  root.changes += 1;
  return code;
}

function appendStep(root: Root, options: WriterOptions, step: usize): i32 {
  const staged = narrowStep(root, step);
  return staged == 0 ? E_OUT_OF_MEMORY : writer_append(options.handle, staged);
}

function appendBlock(root: Root, options: WriterOptions, steps: usize, n: u32, ends: usize, finals: usize, ended: u32): i32 {
  const bytes = blockBytes(root, options.rules, n);
  const block = root.region(WORK, bytes + (finals == 0 ? 0 : blockBytes(root, 0, ended)));
  if (block == 0) return E_OUT_OF_MEMORY;
  writeBlock(root, options.rules, n, steps, block);
  const behind: usize = finals == 0 ? 0 : block + <usize>bytes;
  if (finals != 0) writeBlock(root, 0, ended, finals, behind);
  return writer_append_block(options.handle, block, n, ends, behind);
}

/** Returns the number of steps that end an episode with a final step, or a code if an end is invalid. */
function countEnds(options: WriterOptions, ends: usize, n: u32, finals: usize): i32 {
  if (finals != 0 && options.autoreset == NEXT_STEP)
    return Refusal.of(INVALID).put("finals must be 0 with autoreset nextStep. Append each final step as the next step").code;
  let ended = 0;
  for (let i: u32 = 0; ends != 0 && i < n; i++) {
    const how = load<u8>(ends + <usize>i);
    if (how > TERMINATES) return Refusal.of(INVALID).put("ends").index(i).put(" must be an integer from 0 to 3, got ").number(how).code;
    if (how == ENDS && options.transitions != 0) return mustSay();
    ended += i32(how > ENDS);
  }
  return ended;
}

/** Whether an episode is truncated without the final observation that its transitions need. */
function cutsUnseen(options: WriterOptions, ends: usize, n: u32): bool {
  if (ends == 0 || options.transitions == 0 || options.autoreset == NEXT_STEP) return false;
  for (let i: u32 = 0; i < n; i++) if (load<u8>(ends + <usize>i) == TRUNCATES) return true;
  return false;
}

function mustSay(): i32 {
  return Refusal.of(INVALID).put("an episode must end as truncated (2) or terminated (3) if its writer has nStep or sequence rules, got 1").code;
}

function mustSee(): i32 {
  return Refusal.of(INVALID).put("a truncated episode requires a final step, because its transitions bootstrap from it").code;
}

function endsAlready(): i32 {
  const refusal = Refusal.of(INVALID_DATA).put("the next step of lane ").number(header().errorArgument);
  return refusal.put(" is the final step of its episode (autoreset nextStep), so it cannot end the episode again. Pass 0 for it in ends").code;
}

export function noLane(options: WriterOptions, lane: u32): i32 {
  return Refusal.of(INVALID)
    .put("lane must be an integer from 0 to ")
    .number(options.lanes - 1)
    .put(", got ")
    .number(lane).code;
}

function noMemory(): i32 {
  return Refusal.of(E_OUT_OF_MEMORY).put("the limit bytes is reached. Increase bytes, or lower the sizes of the tables").code;
}

/** Refuses with the reason why the core rejected a writer's input. */
function refusedStep(options: WriterOptions, code: i32, lane: u32): i32 {
  const value = header().errorValue;
  switch (code) {
    case E_RATE_LIMITED:
      return Refusal.of(code).put("the limit `pending` on waiting items is reached. Sample from the table").code;
    case E_PRIORITY:
      return Refusal.of(INVALID).put("priority must be a finite number >= 0, with a weight (priority^exponent) of at most 2^990, got ").number(value).code;
    case E_REWARD: {
      const reward = Field.of(numberIn(REWARD));
      const refusal = Refusal.of(INVALID_DATA).word(reward.path, reward.bytes).put(" must be finite, because nStep and sequence rules sum it, got ");
      return refusal.number(value).put(". To allow other values, add the word infinite to the rule").code;
    }
    case E_NO_EPISODE: {
      const refusal = Refusal.of(OUT_OF_TURN).put("the episode of lane ").number(header().errorArgument);
      return refusal.put(" cannot end here. Either it is not open, or its final step comes next").code;
    }
    case E_FINAL:
      return Refusal.of(INVALID).put("an item must not begin with the final step of an episode, got length ").number(value).code;
    case E_LENGTH: {
      const have = options.writer().stream(lane).recent().count;
      return Refusal.of(INVALID)
        .put("length must be at most ")
        .number(have)
        .put(", the number of steps that are still available, got ")
        .number(value)
        .put(". Increase keep for longer items").code;
    }
    case E_STORED:
      return Refusal.of(E_OUT_OF_MEMORY)
        .put("the limit stored (")
        .number(value)
        .put(" bytes) is reached, and no item is left to evict. Increase stored, or release steps").code;
    case E_KEYS_EXHAUSTED:
      return Refusal.of(code).put("all keys of this table are used up. Create a new Replay").code;
    default:
      return noMemory();
  }
}
