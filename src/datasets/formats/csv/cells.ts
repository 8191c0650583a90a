/** Cells of a table as values: a column is of numbers, of flags, or else of texts, as all of its cells say. */

/** What the cells of a column are. */
export type CellKind = "number" | "flag" | "text";

const NUMBER = /^[-+]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?$/;
const FLAG = /^(?:true|false)$/i;
/** Words for numbers, as NumPy, pandas and others write them. */
const WORDS: { readonly [word: string]: number } = {
  nan: Number.NaN,
  inf: Number.POSITIVE_INFINITY,
  "+inf": Number.POSITIVE_INFINITY,
  "-inf": Number.NEGATIVE_INFINITY,
  infinity: Number.POSITIVE_INFINITY,
  "+infinity": Number.POSITIVE_INFINITY,
  "-infinity": Number.NEGATIVE_INFINITY,
};

/** Which kinds a column may still be; a cell without text fits any. */
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

/** The value of a cell; null for one without text, unless texts are what the column has. */
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
  // As the integers of JSON lines: what i64 and u64 hold is exact.
  const integer = BigInt(text.replace(/^\+/, ""));
  return integer >= -(2n ** 63n) && integer < 2n ** 64n ? integer : value;
}
