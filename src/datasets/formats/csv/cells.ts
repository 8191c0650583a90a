/** Converts the cells of a table to values. The cells of a column together determine whether the column contains numbers, flags or texts. */

/** The kind of a column's cells. */
export type CellKind = "number" | "flag" | "text";

const NUMBER = /^[-+]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?$/;
const FLAG = /^(?:true|false)$/i;
/** The words for numbers that NumPy, pandas and other programs write. */
const WORDS: { readonly [word: string]: number } = {
  nan: Number.NaN,
  inf: Number.POSITIVE_INFINITY,
  "+inf": Number.POSITIVE_INFINITY,
  "-inf": Number.NEGATIVE_INFINITY,
  infinity: Number.POSITIVE_INFINITY,
  "+infinity": Number.POSITIVE_INFINITY,
  "-infinity": Number.NEGATIVE_INFINITY,
};

/** The kinds that a column may still have. An empty cell fits every kind. */
export class CellKinds {
  #isNumber = true;
  #isFlag = true;
  #isEmpty = true;

  add(cell: string): void {
    const text = cell.trim();
    if (text === "") return;
    this.#isEmpty = false;
    if (this.#isNumber && numberOf(text) === undefined) this.#isNumber = false;
    if (this.#isFlag && !FLAG.test(text)) this.#isFlag = false;
  }

  get kind(): CellKind {
    if (this.#isEmpty) return "text";
    return this.#isNumber ? "number" : this.#isFlag ? "flag" : "text";
  }
}

/** Returns the value of a cell. An empty cell is null, unless the column contains texts. */
export function cellValue(cell: string, kind: CellKind): unknown {
  if (kind === "text") return cell;
  const text = cell.trim();
  if (text === "") return null;
  return kind === "flag" ? text.toLowerCase() === "true" : (numberOf(text) as number | bigint);
}

function numberOf(text: string): number | bigint | undefined {
  if (!NUMBER.test(text)) return Object.hasOwn(WORDS, text.toLowerCase()) ? WORDS[text.toLowerCase()] : undefined;
  const value = Number(text);
  if (Number.isSafeInteger(value) || !/^[-+]?\d{16,20}$/.test(text)) return value;
  // Integers within the range of i64 or u64 are exact, as in JSON lines.
  const integer = BigInt(text.replace(/^\+/, ""));
  return integer >= -(2n ** 63n) && integer < 2n ** 64n ? integer : value;
}
