/** Hashes all results of a run as bytes: hash = SHA-256(previous hash, block), block by block. */
const BLOCK_BYTES = 1 << 18;

export class Sink {
  #hash = new Uint8Array(32);
  readonly #block = new Uint8Array(BLOCK_BYTES);
  #at = 0;
  /** Full blocks that wait to be hashed. */
  readonly #full: Uint8Array[] = [];
  readonly #number = new Float64Array(1);

  /** Adds the bytes of an array. A NaN has many bit patterns, and engines preserve different ones, so arrays must not contain any. */
  array(view: ArrayBufferView): void {
    if (view instanceof Float32Array || view instanceof Float64Array) {
      for (let i = 0; i < view.length; i++) if (Number.isNaN(view[i])) throw new Error(`element ${i} of ${view.length} is NaN`);
    }
    this.#bytes(new Uint8Array(view.buffer, view.byteOffset, view.byteLength));
  }

  number(value: number): void {
    this.#number[0] = value;
    this.array(this.#number);
  }

  text(value: string): void {
    this.number(value.length);
    const codes = new Uint16Array(value.length);
    for (let i = 0; i < codes.length; i++) codes[i] = value.charCodeAt(i);
    this.array(codes);
  }

  /** Adds a number, a text or another primitive value, or the keys and values of an object, sorted by key. */
  value(value: unknown): void {
    if (typeof value === "number") this.number(value);
    else if (typeof value === "string") this.text(value);
    else if (typeof value !== "object" || value === null) this.text(String(value));
    else {
      for (const key of Object.keys(value).sort()) {
        this.text(key);
        this.value((value as { [key: string]: unknown })[key]);
      }
    }
  }

  /** Adds nested typed arrays and primitive values, sorted by key. The keys themselves are not added. */
  nest(node: unknown): void {
    if (ArrayBuffer.isView(node)) this.array(node);
    else if (typeof node !== "object" || node === null) this.value(node);
    else for (const key of Object.keys(node).sort()) this.nest((node as { [key: string]: unknown })[key]);
  }

  /** Hashes full blocks. */
  async drain(): Promise<void> {
    for (const block of this.#full.splice(0)) await this.#mix(block);
  }

  /** Returns the hash in hexadecimal. */
  async digest(): Promise<string> {
    await this.drain();
    await this.#mix(this.#block.subarray(0, this.#at));
    return Array.from(this.#hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
  }

  #bytes(bytes: Uint8Array): void {
    for (let from = 0; from < bytes.length; ) {
      const part = bytes.subarray(from, from + BLOCK_BYTES - this.#at);
      this.#block.set(part, this.#at);
      this.#at += part.length;
      from += part.length;
      if (this.#at < BLOCK_BYTES) continue;
      this.#full.push(this.#block.slice());
      this.#at = 0;
    }
  }

  async #mix(block: Uint8Array): Promise<void> {
    const joined = new Uint8Array(this.#hash.length + block.length);
    joined.set(this.#hash);
    joined.set(block, this.#hash.length);
    this.#hash = new Uint8Array(await crypto.subtle.digest("SHA-256", joined));
  }
}
