/** Creates a Replay from a short text: reads the text line by line, checks the text as a whole, then allocates. */
import { arena_alloc } from "../memory/arena";
import { GRANULE_BITS, header, MAX_BYTES } from "../memory/layout";
import { wholeOf } from "./decimal";
import { readLeaf, readList, settleFields } from "./field";
import { readMixture, settleMixtures } from "./mixture";
import { makePools } from "./pools";
import { INVALID, noRoom, notUtf8 } from "./refusal";
import { clean, outside, Root, reset, vacant } from "./root";
import { reserveSave } from "./save";
import { readHead, readWriters as readWriterOptions } from "./snapshot-options";
import { checkStored, makeStored, readStored } from "./stored-limit";
import { makeTables, readTable } from "./table-options";
import { TextReader } from "./text-reader";
import { checkRoles, initRoles, NAMES_BYTES, readRole } from "./transition-roles";
import { isUtf8 } from "./utf8";
import { readView } from "./view";
import { settleViews } from "./view-columns";
import { makeWriters, readRule, readWriter, settleWriters } from "./writer-options";

/** Creates the Replay that a text describes. Returns the handle of the Replay, or 0 if the text was refused, in which case no Replay exists. */
export function replay_create(text: usize, bytes: u32): u32 {
  const root = vacant();
  if (root === null) return 0;
  if (!root.holds(text, bytes)) {
    outside("the text", text, bytes);
    return 0;
  }
  clean();
  return made(root, make(root, text, bytes, 0, 0, 0, 0));
}

/** Completes the creation of a Replay: returns the handle, or 0 if the call was refused, in which case only the input remains. */
export function made(root: Root, code: i32): u32 {
  if (code != 0) {
    reset(root.inputBytes);
    return 0;
  }
  root.open = 1;
  root.handle += 1;
  if (root.handle == 0) root.handle = 1;
  return root.handle;
}

/** Makes the Replay of a text, after the head and the list of writers of a snapshot, if any (0 bytes: none). Returns 0, or the code of a refusal. */
export function make(root: Root, text: usize, bytes: u32, head: usize, headBytes: u32, writers: usize, writersBytes: u32): i32 {
  if (!isUtf8(text, bytes)) return notUtf8();
  // The text is copied, because names are stored as references into it. The names of the roles precede the copy.
  const own = arena_alloc(NAMES_BYTES + headBytes + writersBytes + bytes);
  if (own == 0) return noRoom();
  initRoles(own);
  const headAt = own + NAMES_BYTES;
  const writersAt = headAt + headBytes;
  const textAt = writersAt + writersBytes;
  memory.copy(headAt, head, headBytes);
  memory.copy(writersAt, writers, writersBytes);
  memory.copy(textAt, text, bytes);
  root.maxBytes = MAX_BYTES;
  let code = headBytes == 0 ? 0 : readHead(headAt, headBytes);
  if (code == 0 && writersBytes != 0) code = readWriterOptions(writersAt, writersBytes);
  if (code == 0) code = readLines(TextReader.of(textAt, bytes));
  if (code != 0) return code;
  header().limit = root.maxBytes >> GRANULE_BITS;
  // The order is the same as in TypeScript: first the Replay with its spec, then writers, then views.
  code = settleFields();
  if (code == 0) code = makePools(root);
  if (code == 0) code = checkStored(root);
  if (code == 0) code = checkRoles();
  if (code == 0) code = settleWriters();
  if (code == 0) code = settleViews();
  if (code == 0) code = settleMixtures();
  if (code == 0) code = makeTables();
  if (code == 0) code = makeStored(root);
  if (code == 0) code = makeWriters();
  return code == 0 && !reserveSave(root) ? noRoom() : code;
}

function readLines(words: TextReader): i32 {
  while (words.nextLine()) {
    const code = readLine(words);
    if (code != 0) return code;
  }
  return 0;
}

function readLine(words: TextReader): i32 {
  if (words.is("leaf")) return readLeaf(words);
  if (words.is("list")) return readList(words);
  if (words.is("role")) return readRole(words);
  if (words.is("table")) return readTable(words);
  if (words.is("writer")) return readWriter(words);
  if (words.is("rule")) return readRule(words);
  if (words.is("view")) return readView(words);
  if (words.is("mixture")) return readMixture(words);
  if (words.is("writers")) return readWriters(words);
  if (words.is("seed")) return readSeed(words);
  if (words.is("bytes")) return readBytes(words);
  if (words.is("stored")) return readStored(words);
  return words.refused("the first word", "leaf, list, role, table, writer, rule, view, mixture, writers, seed, bytes or stored");
}

/** Reads `writers keep` or `writers close`, which sets whether the open episodes of a snapshot stay open. */
function readWriters(words: TextReader): i32 {
  if (words.want("the word after writers") != 0) return INVALID;
  const closes = words.is("close");
  if (!closes && !words.is("keep")) return words.unknown("keep or close");
  Root.the().closes = u32(closes);
  return words.done();
}

/** Reads the line `seed N`. */
function readSeed(words: TextReader): i32 {
  if (words.want("the seed") != 0) return INVALID;
  if (wholeOf(words.word, words.bytes, changetype<usize>(Root.the()) + offsetof<Root>("seed"))) return words.done();
  return words.refused("the seed", "a whole number below 2^64");
}

/** Reads the line `bytes N`. */
function readBytes(words: TextReader): i32 {
  if (words.integer("bytes", 1, 4294967296) != 0) return INVALID;
  Root.the().maxBytes = <u32>min(words.value, <f64>MAX_BYTES);
  return words.done();
}
