// Removes documentation comments from bundled files, so that a program that starts has less to read. Editors show these comments from the declarations, and
// debuggers from the sources in the source maps.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { decode, encode } from "@jridgewell/sourcemap-codec";

const ts = createRequire(import.meta.url)("typescript");

/** Removes the lines of documentation comments from a file, and the same lines from its source map. */
export function stripDocs(file) {
  const text = readFileSync(file, "utf8");
  const map = JSON.parse(readFileSync(`${file}.map`, "utf8"));
  const docs = docLines(text);
  const isKept = (_, line) => !docs.has(line);
  writeFileSync(file, text.split("\n").filter(isKept).join("\n"));
  writeFileSync(`${file}.map`, JSON.stringify({ ...map, mappings: encode(decode(map.mappings).filter(isKept)) }));
}

/** Returns the numbers of the lines of documentation comments that stand alone before a declaration or an expression. */
function docLines(text) {
  // TypeScript also ends lines at these characters, so other lines would be removed.
  if (/[\r\u2028\u2029]/.test(text)) throw new Error("a bundled file has a line end that is not \\n: write it as an escape");
  const source = ts.createSourceFile("bundle.js", text, ts.ScriptTarget.Latest, false, ts.ScriptKind.JS);
  const found = new Set();
  const visit = (node) => {
    for (const { pos, end } of ts.getLeadingCommentRanges(text, node.pos) ?? []) {
      const lineStart = text.lastIndexOf("\n", pos) + 1;
      const isAlone = text.slice(lineStart, pos).trim() === "" && text[end] === "\n";
      if (!isAlone || !text.startsWith("/**", pos)) continue;
      const last = source.getLineAndCharacterOfPosition(end).line;
      for (let line = source.getLineAndCharacterOfPosition(pos).line; line <= last; line++) found.add(line);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}
