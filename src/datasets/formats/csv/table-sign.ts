/** Detects tables of comma-separated values by the file name or by the column names in the first line. */
import { fieldsOf } from "../columns/names.ts";
import type { SourceFile } from "../sources/source.ts";

const HEAD_BYTES = 4096;
const NAME = /\.(csv|tsv)$/i;

/** Returns whether a file is a table, given that the file does not have the signature of another format. */
export async function isTable(file: SourceFile): Promise<boolean> {
  // The name decides first, because the texts in a table may contain any characters.
  if (NAME.test(file.name)) return true;
  if (file.size === 0) return false;
  const head = await file.read(0, Math.min(file.size, HEAD_BYTES));
  if (head.some((byte) => byte < 9 || (byte > 13 && byte < 32))) return false;
  const [line = ""] = new TextDecoder().decode(head).split(/[\r\n]/, 1);
  const tops = line.split(/[,;|\t]/).map((name) => name.replace(/^"|"$/g, "").split(/[._/[]\d|[./]/, 1)[0] as string);
  const fields = [...fieldsOf(tops).values()];
  return fields.includes("action") && fields.includes("observation");
}
