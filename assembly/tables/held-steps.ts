/**
 * Tracks the steps of each episode that live items of a table hold, in their order. In a tree per episode, the place of a step and the step at a place are
 * found in O(log steps). Hindsight goals are drawn from this structure. The structure is derived: the first draw that needs it builds it, then each item that
 * is added or removed updates it. If memory runs out, the structure is dropped.
 *
 * HELD STEPS, 56 bytes, in a separate area:
 *    0 │ directory u32 │ slots u32  │  address of u32 × slots: the chunks of NODEs
 *    8 │ chunks u32    │ pages u32  │  · the last page of EPISODEs
 *   16 │ spare u32     │ spares u32 │  free EPISODEs, chained by `root`; their number
 *   24 │ EPISODES (32)              │  the EPISODE of each episode number, in the place of a count
 *
 * NODE, 32 bytes, one per row of the pool by its number, 1,024 per chunk:
 *    0 │ parent u32 │ left u32 │ right u32 │ size u32 │  addresses, 0 = none · steps of its subtree
 *   16 │ items u32  │ row u32  │ episode u32 │ label u32 │  live items that hold the row, 0: the node is in no tree · the row · its EPISODE · its place in a row of steps without a gap
 *
 * EPISODE, 20 bytes, 204 per page of 4 KiB, whose first 16 bytes name the page before:
 *    0 │ root u32 │ row u32 │ first u32 │ last u32 │  root of its tree · its first row if its steps have no gap and each step is linked to the next, else 0 · then the labels of its first and last step
 *   16 │ tail u32 │                                  its last row, 0 if a search must find the row
 *
 * The tree is a treap (Seidel and Aragon, 1996) whose heap order is a hash of the row: its depth is O(log steps) for any sequence of changes, and its shape has
 * no visible effect. Most episodes have no gap: then labels determine places, and links lead to steps, which touches less memory.
 *
 * Items are created in the order of their last steps. So a step that no item has held follows all held steps, except the later steps of the same item.
 */
import { arena_alloc, arena_free } from "../memory/arena";
import { GRANULE } from "../memory/layout";
import { Pool } from "../rows/pool";
import { Head, LINK_ROW, PLACE } from "../rows/row";
import { Run } from "../rows/run";
import { Episodes } from "./episodes";

const EPISODES_AT: usize = 24;
const FIRST_SLOTS: u32 = GRANULE >> 2;

@unmanaged
export class Node {
  parent: u32;
  left: u32;
  right: u32;
  size: u32;
  items: u32;
  row: u32;
  episode: u32;
  label: u32;

  @inline
  static of(at: u32): Node {
    return changetype<Node>(<usize>at);
  }

  @inline
  get at(): u32 {
    return <u32>changetype<usize>(this);
  }

  /** Returns the number that orders the node in the heap: a hash of its row. */
  @inline
  rank(): u32 {
    let h = this.row;
    h = (h ^ (h >> 16)) * 0x85ebca6b;
    h = (h ^ (h >> 13)) * 0xc2b2ae35;
    return h ^ (h >> 16);
  }

  /** Returns the number of steps before the node in its subtree. */
  @inline
  before(): u32 {
    return sizeOf(this.left);
  }
}
const NODE_BYTES: u32 = 32;
if (offsetof<Node>() != NODE_BYTES) ERROR("NODE is 32 bytes");

/** The steps of one episode that live items hold. */
@unmanaged
export class HeldEpisode {
  root: u32;
  row: u32;
  first: u32;
  last: u32;
  tail: u32;

  @inline
  static of(at: u32): HeldEpisode {
    return changetype<HeldEpisode>(<usize>at);
  }

  /** Returns the number of steps. */
  @inline
  size(): u32 {
    return this.row != 0 ? this.last + 1 - this.first : Node.of(this.root).size;
  }

  /** Returns how many steps are before a node. O(1) without a gap, else O(log steps) */
  place(node: Node): u32 {
    return this.row != 0 ? node.label - this.first : placeOf(node.at);
  }

  /** Returns the last row. O(1), or O(log steps) after the previous last row was removed */
  @inline
  lastRow(): u32 {
    if (this.tail == 0) this.tail = Node.of(last(this.root)).row;
    return this.tail;
  }

  /** Returns the row at a place below `size`. `near`: a node of the episode. O(blocks) if the episode has no gap and its own blocks, else O(log steps) */
  rowAt(p: Pool, place: u32, near: Node): u32 {
    let row: u32 = 0;
    if (this.row != 0) {
      const before = near.label - this.first;
      row = place >= before ? Run.skipStraight(p, near.row, place - before) : Run.skipStraight(p, this.row, place);
    }
    return row != 0 ? row : rowAt(this.root, place);
  }
}
const EPISODE_BYTES: u32 = 20;
if (offsetof<HeldEpisode>() != EPISODE_BYTES) ERROR("EPISODE is 20 bytes");

export const CHUNK_BITS: u32 = 10;
const CHUNK: u32 = 1 << CHUNK_BITS;
const CHUNK_BYTES: u32 = CHUNK * NODE_BYTES;

@unmanaged
export class HeldSteps {
  directory: u32;
  slots: u32;
  chunks: u32;
  pages: u32;
  spare: u32;
  spares: u32;

  @inline
  episodes(): Episodes {
    return changetype<Episodes>(changetype<usize>(this) + EPISODES_AT);
  }

  /** Returns the node of a row; there must be room for the node. */
  @inline
  node(p: Pool, row: u32): Node {
    const number = p.blockNumber(row) * p.rows + (row & PLACE);
    const chunk = load<u32>(<usize>this.directory + ((<usize>(number >> CHUNK_BITS)) << 2));
    return changetype<Node>(<usize>(chunk + (number & (CHUNK - 1)) * NODE_BYTES));
  }

  /** Makes room for all rows that a pool has used, and n more episodes; false (OUT_OF_MEMORY) changes nothing. */
  reserve(p: Pool, n: u32): bool {
    while (this.chunks << CHUNK_BITS < p.high) {
      if (this.chunks == this.slots && !this.growDirectory()) return false;
      const chunk = arena_alloc(CHUNK_BYTES);
      if (chunk == 0) return false;
      store<u32>(<usize>this.directory + ((<usize>this.chunks) << 2), chunk);
      this.chunks += 1;
    }
    while (this.spares < n) {
      const page = arena_alloc(GRANULE);
      if (page == 0) return false;
      store<u32>(<usize>page, this.pages);
      this.pages = page;
      for (let at = page + GRANULE - EPISODE_BYTES; at > page; at -= EPISODE_BYTES) this.free(at);
    }
    return this.episodes().reserve(n);
  }

  /**
   * Notes that an item holds the rows of a run, for which there is room. O(length × log steps), and O(length) if other items hold all of these rows already
   */
  join(p: Pool, first: u32, length: u32): void {
    let before: u32 = 0;
    let number: u32 = 0;
    let row = first;
    for (let left = length; left > 0; left--) {
      const head = Head.of(row);
      const node = this.node(p, row);
      if (node.items == 0) {
        node.row = row;
        node.parent = 0;
        node.left = 0;
        node.right = 0;
        node.size = 1;
        if (before != 0 && head.episode == number) insert(p, node, before, 0);
        else {
          const next = this.firstHeld(p, row, left);
          const episode = next != 0 ? Node.of(next).episode : this.episodes().items(head.episode);
          if (episode == 0) this.open(node, head.episode);
          else insert(p, node, next != 0 ? 0 : last(HeldEpisode.of(episode).root), next);
        }
      }
      node.items += 1;
      before = node.at;
      number = head.episode;
      row = head.next & LINK_ROW;
    }
  }

  /** Notes that an item releases the rows of a run, which are still held. O(length × log steps), and O(length) if other items hold all of these rows */
  leave(p: Pool, first: u32, length: u32): void {
    let row = first;
    for (let left = length; left > 0; left--) {
      const head = Head.of(row);
      const node = this.node(p, row);
      if (!ASC_NO_ASSERT) assert(node.items != 0, "a step is left by as many items as hold it");
      node.items -= 1;
      if (node.items == 0) this.remove(p, node, head.episode);
      row = head.next & LINK_ROW;
    }
  }

  /** Frees the memory of the structure. */
  close(): void {
    const episodes = this.episodes();
    arena_free(episodes.entries, episodes.capacity << 3);
    for (let i: u32 = 0; i < this.chunks; i++) arena_free(load<u32>(<usize>this.directory + ((<usize>i) << 2)), CHUNK_BYTES);
    arena_free(this.directory, this.slots << 2);
    for (let page = this.pages; page != 0; ) {
      const before = load<u32>(<usize>page);
      arena_free(page, GRANULE);
      page = before;
    }
    arena_free(<u32>changetype<usize>(this), HELD_STEPS_BYTES);
  }

  /** Opens an episode with its first step. */
  private open(node: Node, number: u32): void {
    const at = this.spare;
    const episode = HeldEpisode.of(at);
    this.spare = episode.root;
    this.spares -= 1;
    episode.root = node.at;
    episode.row = node.row;
    episode.first = 0;
    episode.last = 0;
    episode.tail = node.row;
    node.episode = at;
    node.label = 0;
    this.episodes().put(number, at);
  }

  private free(at: u32): void {
    HeldEpisode.of(at).root = this.spare;
    this.spare = at;
    this.spares += 1;
  }

  /** Returns the node of the first row, after the beginning of a run, that is in the same episode and held by an item; 0 = none. */
  private firstHeld(p: Pool, row: u32, length: u32): u32 {
    const episode = Head.of(row).episode;
    for (; length > 1; length--) {
      row = p.next(row);
      if (Head.of(row).episode != episode) return 0;
      const node = this.node(p, row);
      if (node.items != 0) return node.at;
    }
    return 0;
  }

  /** Removes a node from its tree: the node sinks until it has at most one child, which replaces the node. */
  private remove(p: Pool, node: Node, number: u32): void {
    const episode = HeldEpisode.of(node.episode);
    while (node.left != 0 && node.right != 0) {
      const child = Node.of(node.left).rank() > Node.of(node.right).rank() ? node.left : node.right;
      rotate(Node.of(child));
      if (episode.root == node.at) episode.root = child;
    }
    const child = node.left != 0 ? node.left : node.right;
    const parent = node.parent;
    if (child != 0) Node.of(child).parent = parent;
    if (parent != 0) replaceChild(Node.of(parent), node.at, child);
    else episode.root = child;
    for (let at = parent; at != 0; at = Node.of(at).parent) Node.of(at).size -= 1;
    if (node.row == episode.tail) episode.tail = 0;
    if (episode.root == 0) {
      this.free(node.episode);
      this.episodes().take(number);
    } else if (episode.row != 0) {
      if (node.label == episode.first) {
        episode.first += 1;
        episode.row = p.next(node.row);
      } else if (node.label == episode.last) episode.last -= 1;
      else episode.row = 0;
    }
  }

  private growDirectory(): bool {
    const slots = this.slots == 0 ? FIRST_SLOTS : this.slots << 1;
    const directory = arena_alloc(slots << 2);
    if (directory == 0) return false;
    memory.copy(directory, this.directory, (<usize>this.chunks) << 2);
    arena_free(this.directory, this.slots << 2);
    this.directory = directory;
    this.slots = slots;
    return true;
  }
}
if (offsetof<HeldSteps>() != EPISODES_AT) ERROR("HELD STEPS: EPISODES at byte 24");
const HELD_STEPS_BYTES: u32 = <u32>EPISODES_AT + offsetof<Episodes>();

/** Returns an empty structure; 0 (OUT_OF_MEMORY) if there is no room. */
export function newHeldSteps(): u32 {
  const held = arena_alloc(HELD_STEPS_BYTES);
  if (held != 0)
    changetype<HeldSteps>(<usize>held)
      .episodes()
      .forget();
  return held;
}

/** Returns how many steps of the episode are before the step of a node. O(log steps) */
export function placeOf(at: u32): u32 {
  let node = Node.of(at);
  let place = node.before();
  while (node.parent != 0) {
    const parent = Node.of(node.parent);
    if (parent.right == node.at) place += parent.before() + 1;
    node = parent;
  }
  return place;
}

/** Returns the row at a place below `size` in a tree. O(log steps) */
function rowAt(root: u32, place: u32): u32 {
  let node = Node.of(root);
  while (true) {
    const before = node.before();
    if (place == before) return node.row;
    if (place < before) node = Node.of(node.left);
    else {
      place -= before + 1;
      node = Node.of(node.right);
    }
  }
}

/** Returns 0, or the number of the broken invariant, for the tree below a node. */
export function checkTree(at: u32, parent: u32): i32 {
  if (at == 0) return 0;
  const node = Node.of(at);
  if (node.parent != parent) return 1;
  if (node.items == 0 || node.size != 1 + sizeOf(node.left) + sizeOf(node.right)) return 2;
  if (parent != 0 && node.rank() > Node.of(parent).rank()) return 3;
  const left = checkTree(node.left, at);
  return left != 0 ? left : checkTree(node.right, at);
}

function sizeOf(at: u32): u32 {
  return at == 0 ? 0 : Node.of(at).size;
}

/** Returns the last node of a tree. */
function last(at: u32): u32 {
  while (Node.of(at).right != 0) at = Node.of(at).right;
  return at;
}

/** Inserts a new step of an episode right after the node `behind` or, if `behind` is 0, right before the node `before`. */
function insert(p: Pool, node: Node, behind: u32, before: u32): void {
  const near = Node.of(behind != 0 ? behind : before);
  const episode = HeldEpisode.of(near.episode);
  hang(node, near, behind != 0);
  node.episode = near.episode;
  if (behind != 0 && near.row == episode.tail) episode.tail = node.row;
  lift(node);
  if (node.parent == 0) episode.root = node.at;
  if (episode.row == 0) return;
  // Only a step that directly follows the last step can get a label. Any other step ends the use of labels in this episode.
  if (behind != 0 && near.label == episode.last && p.next(near.row) == node.row) {
    node.label = near.label + 1;
    episode.last = node.label;
  } else episode.row = 0;
}

/** Inserts a new node into a tree, right after or right before another node. */
function hang(node: Node, by: Node, behind: bool): void {
  let parent = by;
  if (behind && by.right != 0) {
    parent = Node.of(by.right);
    while (parent.left != 0) parent = Node.of(parent.left);
    parent.left = node.at;
  } else if (behind) by.right = node.at;
  else if (by.left != 0) {
    parent = Node.of(last(by.left));
    parent.right = node.at;
  } else by.left = node.at;
  node.parent = parent.at;
}

/** Counts a new node without children in the nodes above it, and moves the new node up to the place of its rank. */
function lift(node: Node): void {
  for (let at = node.parent; at != 0; at = Node.of(at).parent) Node.of(at).size += 1;
  while (node.parent != 0 && node.rank() > Node.of(node.parent).rank()) rotate(node);
}

/** Replaces a node's parent with the node; the parent becomes a child of the node. */
function rotate(node: Node): void {
  const parent = Node.of(node.parent);
  const above = parent.parent;
  const inner = parent.left == node.at ? node.right : node.left;
  if (parent.left == node.at) {
    parent.left = inner;
    node.right = parent.at;
  } else {
    parent.right = inner;
    node.left = parent.at;
  }
  if (inner != 0) Node.of(inner).parent = parent.at;
  if (above != 0) replaceChild(Node.of(above), parent.at, node.at);
  node.parent = above;
  parent.parent = node.at;
  node.size = parent.size;
  parent.size = 1 + sizeOf(parent.left) + sizeOf(parent.right);
}

function replaceChild(parent: Node, child: u32, by: u32): void {
  if (parent.left == child) parent.left = by;
  else parent.right = by;
}
