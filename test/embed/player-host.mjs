/** Implements a host of embed.wasm in plain JavaScript, for Node, Deno, Bun, browsers and workerd. Hosts in other languages work in the same way. */
const [APPEND, END, ITEM, UPDATE, DELETE, RELOAD] = [0, 1, 2, 4, 5, 7];
export const SAMPLE = 3;
export const STATS = 6;
export const CLOCK = 255;

/** Returns the address of an offset in the payload at `at`, or 0 if the offset is negative. */
const place = (at, offset) => (offset < 0 ? 0 : at + offset);

export class Host {
  constructor(module, text) {
    this.x = new WebAssembly.Instance(module).exports;
    this.look();
    this.handle = this.found(this.x.replay_create(this.give(text), text.length));
  }

  /** Performs an operation and returns its result. */
  play({ call, args, last, payload }) {
    const { x, handle } = this;
    const at = payload.length === 0 ? 0 : this.give(payload);
    switch (call) {
      case APPEND:
        return x.replay_append(handle, args[0], place(at, args[1]), args[2], place(at, args[3]), place(at, args[4]));
      case END:
        return x.replay_end(handle, args[0], args[1], args[2], place(at, args[3]));
      case ITEM:
        return x.replay_item(handle, args[0], args[1], args[2], args[3], last);
      case SAMPLE:
        return x.replay_sample(handle, args[0], args[1], last);
      case UPDATE:
        return x.replay_update(handle, args[0], place(at, args[1]), place(at, args[2]), args[3]);
      case DELETE:
        return x.replay_delete(handle, args[0], place(at, args[1]), args[2]);
      case STATS:
        this.told = this.found(x.replay_stats(handle, args[0]));
        return 0;
      case RELOAD:
        this.reload(payload);
        return 0;
    }
    throw new Error(`there is no operation ${call}`);
  }

  /** Copies bytes into the memory and returns their address. */
  give(bytes) {
    const at = this.found(this.x.replay_input(bytes.length));
    this.bytes.set(bytes, at);
    return at;
  }

  /** Passes each column of a view's batch to `take`. */
  columns(view, take) {
    const { x, handle } = this;
    const at = this.found(x.replay_columns(handle, view)) >>> 2;
    const { bytes, words } = this;
    for (let column = at + 6; column < at + 6 + 10 * words[at]; column += 10) {
      const from = words[column + 8];
      take(bytes.subarray(from, from + words[at + 1] * words[column + 9]));
    }
  }

  /** Replaces the Replay with one that is loaded from its snapshot. `lines` follow the lines in the snapshot. */
  reload(lines) {
    const chunks = [];
    for (let first = 1; ; first = 0) {
      const at = this.found(this.x.replay_save(this.handle, first)) >>> 2;
      const [from, bytes] = this.words.subarray(at, at + 2);
      if (bytes === 0) break;
      chunks.push(this.bytes.slice(from, from + bytes));
    }
    this.x.replay_free(this.handle);
    const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    const all = new Uint8Array(length + lines.length);
    let end = 0;
    for (const part of [...chunks, lines]) {
      all.set(part, end);
      end += part.length;
    }
    const at = this.give(all);
    this.handle = this.found(this.x.replay_load(at, length, at + length, lines.length));
  }

  /** Returns a handle or an address. Renews the views of the memory if the call has grown the memory. @throws Error if it is 0: the call was rejected */
  found(result) {
    if (result === 0) throw new Error(this.error());
    if (this.bytes.length === 0) this.look();
    return result >>> 0;
  }

  look() {
    this.bytes = new Uint8Array(this.x.memory.buffer);
    this.words = new Uint32Array(this.x.memory.buffer);
  }

  error() {
    this.look();
    const at = this.x.replay_error();
    return new TextDecoder().decode(this.bytes.subarray(at, this.bytes.indexOf(0, at)));
  }
}
