// Splits the prose of a file into blocks: paragraphs of Markdown, comments, and literals. The text of a block is as long as its source, with marks and code
// blanked, so that positions stay the same.
import { createRequire } from "node:module";

// TypeScript is loaded when the first file needs it. It is loaded with `require`, because an import would search all 9 MB of it for names.
const require = createRequire(import.meta.url);

/** The syntax of comments and strings in the other languages. Docstrings of Python count as comments. */
const LANGUAGES = {
  py: { line: "#", comments: [['"""', '"""']], strings: ['"', "'"] },
  lua: { line: "--", comments: [["--[[", "]]"]], strings: ['"', "'"] },
  c: { line: "//", comments: [["/*", "*/"]], strings: ['"', "'"] },
};
const SAME = { h: "c", cs: "c", rs: "c" };

/** Returns the blocks of a file as {kind, text, offset}: "paragraph", "cell" and "heading" of Markdown, "comment" and "literal" of code. */
export function textsOf(path, source) {
  const extension = path.slice(path.lastIndexOf(".") + 1);
  if (extension === "md") return markdown(source);
  const language = LANGUAGES[SAME[extension] ?? extension];
  const blocks = language === undefined ? typescript(source) : script(source, language);
  return blocks.map((block) => ({ ...block, text: withoutCode(block.text) }));
}

/** Returns blocks of TypeScript, JavaScript and AssemblyScript, using TypeScript's scanner. */
function typescript(source) {
  const ts = require("typescript");
  const scanner = ts.createScanner(ts.ScriptTarget.Latest, false, ts.LanguageVariant.Standard, source);
  const blocks = [];
  // The open templates: the number of open braces in their current expression, and the text before it.
  const templates = [];
  let before = ts.SyntaxKind.Unknown;
  let lineComment;
  for (let kind = scanner.scan(); kind !== ts.SyntaxKind.EndOfFileToken; kind = scanner.scan()) {
    if ((kind === ts.SyntaxKind.SlashToken || kind === ts.SyntaxKind.SlashEqualsToken) && !endsValue(ts, before)) kind = scanner.reScanSlashToken();
    const open = templates.at(-1);
    if (kind === ts.SyntaxKind.OpenBraceToken && open !== undefined) open.braces++;
    if (kind === ts.SyntaxKind.CloseBraceToken && open !== undefined && open.braces-- === 0) {
      kind = scanner.reScanTemplateToken(false);
      open.braces = 0;
    }
    const start = scanner.getTokenStart();
    const end = scanner.getTokenEnd();
    const text = source.slice(start, end);
    if (kind === ts.SyntaxKind.SingleLineCommentTrivia) {
      const gap = lineComment === undefined ? "" : source.slice(lineComment.offset + lineComment.text.length, start);
      if (lineComment !== undefined && /^\r?\n[ \t]*$/.test(gap)) lineComment.text += gap + text.replace(/^\/+/, blank);
      else {
        lineComment = { kind: "comment", text: text.replace(/^\/+/, blank), offset: start };
        blocks.push(lineComment);
      }
      continue;
    }
    if (kind === ts.SyntaxKind.NewLineTrivia || kind === ts.SyntaxKind.WhitespaceTrivia) continue;
    lineComment = undefined;
    if (kind === ts.SyntaxKind.MultiLineCommentTrivia) {
      blocks.push({ kind: "comment", text: text.replace(/^\/\*+|\*+\/$|^[ \t]*\*(?!\/)/gm, blank), offset: start });
      continue;
    }
    if (kind === ts.SyntaxKind.StringLiteral || kind === ts.SyntaxKind.NoSubstitutionTemplateLiteral) {
      blocks.push({ kind: "literal", text: literal(text), offset: start });
    } else if (kind === ts.SyntaxKind.TemplateHead) {
      templates.push({ braces: 0, offset: start, text: literal(text) });
    } else if (kind === ts.SyntaxKind.TemplateMiddle || kind === ts.SyntaxKind.TemplateTail) {
      open.text = open.text.padEnd(start - open.offset, "X") + literal(text);
      if (kind === ts.SyntaxKind.TemplateTail) blocks.push({ kind: "literal", ...templates.pop() });
    }
    before = kind;
  }
  return blocks;
}

/** Returns whether a slash after a token divides. After all other tokens it begins a regular expression. */
function endsValue({ SyntaxKind }, kind) {
  const { Identifier, NumericLiteral, BigIntLiteral, StringLiteral, NoSubstitutionTemplateLiteral, TemplateTail, RegularExpressionLiteral } = SyntaxKind;
  const { CloseParenToken, CloseBracketToken, CloseBraceToken, ThisKeyword, TrueKeyword, FalseKeyword, NullKeyword, SuperKeyword } = SyntaxKind;
  const values = [Identifier, NumericLiteral, BigIntLiteral, StringLiteral, NoSubstitutionTemplateLiteral, TemplateTail, RegularExpressionLiteral];
  return [...values, CloseParenToken, CloseBracketToken, CloseBraceToken, ThisKeyword, TrueKeyword, FalseKeyword, NullKeyword, SuperKeyword].includes(kind);
}

/** Returns blocks of a language in LANGUAGES. Expressions in its strings count as text. */
function script(source, { line, comments, strings }) {
  const blocks = [];
  let last;
  for (let at = 0; at < source.length; ) {
    const comment = comments.find(([open]) => source.startsWith(open, at));
    if (comment !== undefined) {
      const end = after(source, comment[1], at + comment[0].length);
      const text = source.slice(at, end).replace(/^(?:\/\*+|--\[\[|""")|(?:\*+\/|\]\]|""")$|^[ \t]*\*(?!\/)/gm, blank);
      blocks.push({ kind: "comment", text, offset: at });
      at = end;
    } else if (source.startsWith(line, at)) {
      const end = source.indexOf("\n", at) < 0 ? source.length : source.indexOf("\n", at);
      const text = source.slice(at, end).replace(/^(?:#+!?|-+|\/+)/, blank);
      const gap = last === undefined ? "" : source.slice(last.offset + last.text.length, at);
      if (last !== undefined && /^\r?\n[ \t]*$/.test(gap)) last.text += gap + text;
      else {
        last = { kind: "comment", text, offset: at };
        blocks.push(last);
      }
      at = end;
    } else if (strings.includes(source[at])) {
      const end = endOfString(source, at);
      blocks.push({ kind: "literal", text: literal(source.slice(at, end)).replace(/\{[^{}]*\}/g, fill), offset: at });
      at = end;
    } else {
      at++;
    }
  }
  return blocks;
}

function after(source, mark, from) {
  const at = source.indexOf(mark, from);
  return at < 0 ? source.length : at + mark.length;
}

/** Returns the position after a single-line string that begins at `start`. */
function endOfString(source, start) {
  let at = start + 1;
  while (at < source.length && source[at] !== source[start] && source[at] !== "\n") at += source[at] === "\\" ? 2 : 1;
  return Math.min(at + 1, source.length);
}

/** Returns paragraphs, list items, headings and table cells. Code, link addresses and HTML comments are blanked. */
function markdown(source) {
  const text = source
    .replace(/^([ \t]*)(```+|~~~+)[^\n]*\n(?:[\s\S]*?\n)?\1?\2[ \t]*$/gm, blank)
    .replace(/<!--[\s\S]*?-->/g, blank)
    .replace(/\]\([^)\s]*\)/g, blank);
  const blocks = [];
  let paragraph;
  let offset = 0;
  for (const line of withoutCode(text).split("\n")) {
    const cells = /^\s*\|.*\|\s*$/.test(line);
    const heading = /^#{1,6} /.test(line);
    const item = /^\s*(?:[-*+]|\d+[.)]) /.test(line);
    if (cells || heading || line.trim() === "" || item) paragraph = undefined;
    if (cells) {
      for (const { 0: cell, index } of line.matchAll(/[^|]+/g)) if (cell.trim() !== "") blocks.push({ kind: "cell", text: cell, offset: offset + index });
    } else if (heading) {
      blocks.push({ kind: "heading", text: line.replace(/^#+/, blank), offset });
    } else if (line.trim() !== "") {
      const prose = line.replace(/^\s*(?:>\s?)*(?:[-*+]|\d+[.)])? /, blank);
      if (paragraph === undefined) {
        paragraph = { kind: "paragraph", text: prose, offset };
        blocks.push(paragraph);
      } else {
        paragraph.text += `\n${prose}`;
      }
    }
    offset += line.length + 1;
  }
  return blocks;
}

/** Returns a literal in which the quotes and the escapes of line ends and tabs are blanked. */
function literal(text) {
  return text.replace(/^(?:["'`]|\})|(?:["'`]|\$\{)$/g, blank).replace(/\\[nrt]/g, blank);
}

/** Returns a text in which code blocks are blanked, and each piece of inline code is one word. */
function withoutCode(text) {
  return text
    .replace(/^([ \t]*)```[\s\S]*?```/gm, blank)
    .replace(/(`+)(?:(?!\1)[^\n]|\n(?!\s*\n))+?\1/g, fill)
    .replace(/\{@link[^}]*\}/g, fill);
}

function blank(text) {
  return text.replace(/[^\n]/g, " ");
}

function fill(text) {
  return text.replace(/[^\n]/g, "X");
}
