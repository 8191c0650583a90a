/** A Replay out of a short text: read line by line, then checked as a whole, then made. */
import { arena_alloc } from "../memory/arena";
import { GRANULE_BITS, header, MAX_BYTES } from "../memory/layout";
import { wholeOf } from "./decimal";
import { makeWriters, readRule, readWriter, settleDesks } from "./desk";
import { noRoom, readLeaf, readList, settleFields } from "./field";
import { settleViews } from "./pick";
import { makePools } from "./pools";
import { INVALID, INVALID_DATA, OUT_OF_TURN, Refusal } from "./refusal";
import { checkRoles, initRoles, NAMES_BYTES, readRole } from "./roles";
import { clean, outside, Root, reset } from "./root";
import { reserveSave } from "./save";
import { makeTables, readTable } from "./shelf";
import { isUtf8 } from "./utf8";
import { readView } from "./view";
import { Words } from "./words";

/** Makes the Replay that a text says. Its handle; 0: it was refused, and nothing is there. */
export function replay_create(text: usize, bytes: u32): u32 {
  const root = Root.the();
  if (root.open != 0) {
    Refusal.of(OUT_OF_TURN).put("this instance has a Replay (handle ").number(root.handle).put("): free it first, or take another instance");
    return 0;
  }
  if (!root.holds(text, bytes)) {
    outside("the text", text, bytes);
    return 0;
  }
  clean();
  const inputBytes = root.inputBytes;
  if (make(root, text, bytes) != 0) {
    reset(inputBytes);
    return 0;
  }
  return begins(root);
}

/** The Replay that was made is there; its handle. */
export function begins(root: Root): u32 {
  root.open = 1;
  root.handle += 1;
  if (root.handle == 0) root.handle = 1;
  return root.handle;
}

/** 0, or what is refused. */
export function make(root: Root, text: usize, bytes: u32): i32 {
  if (!isUtf8(text, bytes)) return Refusal.of(INVALID_DATA).put("the text must be UTF-8").code;
  // A copy: names stay in it. The roles' own stand before it.
  root.textBytes = bytes + NAMES_BYTES;
  root.text = arena_alloc(root.textBytes);
  if (root.text == 0) return noRoom();
  initRoles(root.text);
  memory.copy(root.text + NAMES_BYTES, text, bytes);
  root.maxBytes = MAX_BYTES;
  let code = readLines(Words.of(root.text + NAMES_BYTES, bytes));
  if (code == 0) code = settleFields();
  if (code == 0) code = checkRoles();
  if (code == 0) code = settleDesks();
  if (code == 0) code = settleViews();
  if (code != 0) return code;
  header().limit = root.maxBytes >> GRANULE_BITS;
  code = makePools(root);
  if (code == 0) code = makeTables();
  if (code == 0) code = makeWriters();
  return code == 0 && !reserveSave(root) ? noRoom() : code;
}

function readLines(words: Words): i32 {
  while (words.nextLine()) {
    const code = readLine(words);
    if (code != 0) return code;
  }
  return 0;
}

function readLine(words: Words): i32 {
  if (words.is("leaf")) return readLeaf(words);
  if (words.is("list")) return readList(words);
  if (words.is("role")) return readRole(words);
  if (words.is("table")) return readTable(words);
  if (words.is("writer")) return readWriter(words);
  if (words.is("rule")) return readRule(words);
  if (words.is("view")) return readView(words);
  if (words.is("seed")) return readSeed(words);
  if (words.is("bytes")) return readBytes(words);
  return words.refused("a line", "one that begins with leaf, list, role, table, writer, rule, view, seed or bytes");
}

/** seed N */
function readSeed(words: Words): i32 {
  if (words.want("the seed") != 0) return INVALID;
  if (wholeOf(words.word, words.bytes, changetype<usize>(Root.the()) + offsetof<Root>("seed"))) return words.done();
  return words.refused("the seed", "a whole number below 2^64");
}

/** bytes N */
function readBytes(words: Words): i32 {
  if (words.integer("bytes", 1, 4294967296) != 0) return INVALID;
  Root.the().maxBytes = <u32>min(words.value, <f64>MAX_BYTES);
  return words.done();
}
