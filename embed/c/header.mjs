// Generates reprise.h from the exports of embed.wasm. The descriptions of calls, codes, dtypes and records come from the sources.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { root } from "../../build/step.mjs";

const PAGE = "assembly/embed.ts";
const RECORDS = "assembly/embed/describe.ts";
const TABLES = "docs/embed/protocol.md";
/** The maximum line length of a comment. */
const WIDTH = 100;

/** The C types of address parameters. Sizes have the width of a pointer. An address parameter that is missing here is an error. */
const PARAMETERS = {
  // The size is passed so that a caller with steps of another size gets an error.
  "append n": "size_t bytes",
  handle: "reprise_replay *replay",
  text: "const char *text",
  snapshot: "const void *snapshot",
  bytes: "size_t bytes",
  textBytes: "size_t text_bytes",
  steps: "const void *steps",
  ends: "const uint8_t *ends",
  finals: "const void *finals",
  final: "const void *final",
  keys: "const double *keys",
  priorities: "const double *priorities",
  values: "const void *values, size_t bytes",
  state: "double *state",
  "set_mixture state": "const void *state, size_t bytes",
};
const RESULTS = {
  create: "reprise_replay *",
  load: "reprise_replay *",
  columns: "const reprise_batch *",
  stats: "const reprise_numbers *",
  mixture: "const void *",
  save: "const reprise_chunk *",
  error: "const char *",
};
const MORE_TO_SAY = {
  append: "`bytes`: the number of bytes of all n steps, each of which has reprise_columns(replay, REPRISE_STEP)->bytes.",
  write: "`bytes`: the number of bytes of all values.",
  set_mixture: "`bytes`: 48, and 16 for each source.",
};
/** Calls that C programs do not get: the library makes them itself, or they return addresses in the instance to programs that accept remote writers. */
const INNER = ["input", "writer"];
/** The C types of fields that are addresses. */
const FIELDS = {
  name: ["const char *name; /* UTF-8, zero-terminated */"],
  dims: ["const uint32_t *dims; /* the shape of a value */"],
  at: ["const void *data; /* the values; NULL for a packed step */", "uint32_t offset; /* the offset of the value in a packed step */"],
  unused: [],
};

const sources = new Map();
function source(path) {
  if (!sources.has(path)) sources.set(path, readFileSync(join(root, path), "utf8"));
  return sources.get(path);
}

/** Returns all matches of a pattern. @throws Error if there is no match, which is a bug in this script or in the sources */
function found(path, pattern, text = source(path)) {
  const matches = [...text.matchAll(pattern)];
  if (matches.length === 0) throw new Error(`embed/c/header.mjs: ${path} has nothing like ${pattern}`);
  return matches;
}

const snake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const numbers = (path) => found(path, /^export const (\w+): i32 = (-\d+);/gm).map(([, name, code]) => [name, Number(code)]);

/** Returns the calls that the page exports, in order. */
function calls() {
  const exported = found(PAGE, /^export \{ (.*) \} from "(.*)";$/gm).flatMap(([, names, file]) =>
    names.split(", ").map((name) => [name, `${join(dirname(PAGE), file)}.ts`]),
  );
  return exported
    .filter(([name]) => name.startsWith("replay_"))
    .map(([whole, path]) => {
      const pattern = new RegExp(`/\\*\\*((?:(?!\\*/)[^])*)\\*/\\nexport function ${whole}\\((.*)\\): (\\w+) \\{`, "g");
      const [[, comment, parameters, result]] = found(path, pattern);
      return { name: whole.slice("replay_".length), comment: comment.replace(/\s*\n \* ?/g, " ").trim(), parameters, result };
    });
}

function prototype({ name, comment, parameters, result }) {
  const list = parameters.split(", ").flatMap((parameter) => {
    if (parameter === "") return [];
    const [called, type] = parameter.split(": ");
    const known = PARAMETERS[`${name} ${called}`] ?? PARAMETERS[called];
    if (known !== undefined) return [known];
    if (type !== "u32" && type !== "f64") throw new Error(`embed/c/header.mjs: ${called} of replay_${name} is ${type}: say in PARAMETERS what it is in C`);
    return [`${type === "u32" ? "uint32_t" : "double"} ${snake(called)}`];
  });
  if (!(name in RESULTS) && result !== "i32") throw new Error(`embed/c/header.mjs: say in RESULTS what replay_${name} gives in C`);
  const given = RESULTS[name] ?? "int32_t ";
  return `${wrapped(MORE_TO_SAY[name] === undefined ? comment : `${comment} ${MORE_TO_SAY[name]}`)}\n${given}reprise_${name}(${list.join(", ") || "void"});\n`;
}

function wrapped(comment) {
  const lines = [""];
  for (const word of comment.split(" ")) {
    const line = lines.at(-1);
    if (line.length + word.length >= WIDTH) lines.push(word);
    else lines[lines.length - 1] = line === "" ? word : `${line} ${word}`;
  }
  return `/* ${lines.join("\n   ")} */`;
}

/** Returns the fields of a record of the core, from the class that reads it. */
function record(name) {
  const [[, body]] = found(RECORDS, new RegExp(`^class ${name} \\{\\n([^}(]*?)(?:\\n  /\\*\\*|\\n\\})`, "gm"));
  return found(RECORDS, /^ {2}(\w+): (u32|f64);$/gm, body).map(([, field, type]) => [field, type]);
}

function struct(name, fields) {
  return `typedef struct ${name} {\n${fields.map((field) => `  ${field}\n`).join("")}} ${name};\n`;
}

const raw = ([field, type]) => `${type === "u32" ? "uint32_t" : "double"} ${snake(field)};`;

/** Returns fields of u32 in C, with the descriptions at their offsets. */
function told(fields, said) {
  return fields.flatMap((field, i) => FIELDS[field[0]] ?? [said.has(4 * i) ? `${raw(field)} /* ${said.get(4 * i)} */` : raw(field)]);
}

/** Parses the two tables of records, COLUMNS on the left and COLUMN on the right: offsets and descriptions. */
function saidOf(side) {
  const rows = found(TABLES, /^\|.*\|.*\| \d[\d, ]* \| .* \|$/gm).map(([row]) => row.split("|").slice(2 * side + 1, 2 * side + 3));
  return new Map(rows.map(([offset, what]) => [Number.parseInt(offset, 10), what.trim()]));
}

function constants(pairs) {
  return `enum {\n${pairs.map(([name, value]) => `  REPRISE_${name} = ${value},\n`).join("")}};\n`;
}

/** Returns the codes of calls that have a name in the text of a refusal. */
function codes() {
  const values = new Map([...numbers("assembly/memory/error.ts"), ...numbers("assembly/embed/refusal.ts")]);
  const named = found("assembly/embed/refusal.ts", /case (\w+):\n {6}return "(\w+)";/g).map(([, constant, name]) => [name, values.get(constant)]);
  return [["INVALID", values.get("INVALID")], ...named].sort(([, a], [, b]) => b - a);
}

function dtypes() {
  const list = source("assembly/rows/leaf.ts").split("/** Element types")[1].split("LEAF_BYTES")[0];
  return found("assembly/rows/leaf.ts", /const (\w+): u32 = (\d+);/g, list).map(([, name, value]) => [name, Number(value)]);
}

const HEAD = `/* Generated by embed/c/header.mjs from ${PAGE} and the files that it imports. Do not edit this file. docs/embed/c.md explains
   how to use the library.

   A Replay may be used by only one thread at a time; different Replays may be used at the same time. Arguments are copied.
   Pointers that a call returns are valid until the next call with the same Replay; pointers to the description of a packed
   step are valid as long as the Replay. A code below 0, or NULL, means that the call was refused and nothing has changed.
   reprise_error() then returns the reason, separately for each thread. */
#ifndef REPRISE_H
#define REPRISE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

typedef struct reprise_replay reprise_replay;
`;

const MORE = `/* Returns the column with a name, or NULL. */
const reprise_column *reprise_find(const reprise_batch *batch, const char *name);

/* Copies all entries of a column to a buffer of \`bytes\` bytes. Returns the number of entries, or a code. */
int32_t reprise_copy(const reprise_batch *batch, const char *name, void *to, size_t bytes);

/* Copies the value of a leaf, of \`bytes\` bytes, to its place in a packed step. Returns 0, or a code. \`step\` is the result of
   reprise_columns for REPRISE_STEP; \`to\` has room for a packed step. */
int32_t reprise_put(const reprise_batch *step, const char *name, const void *value, size_t bytes, void *to);
`;

const END = `
#ifdef __cplusplus
}
#endif
#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#endif
`;

/** Returns the text of reprise.h. */
export function header() {
  return [
    HEAD,
    `/* Passed instead of a view to describe a packed step. */\nenum { REPRISE_STEP = -1 };\n`,
    `/* The codes with which a call can be refused. */\n${constants(codes())}`,
    `/* The types of elements. */\n${constants(dtypes())}`,
    `/* A column of a batch, or a leaf of a packed step. */\n${struct("reprise_column", told(record("Column"), saidOf(1)))}`,
    struct("reprise_batch", [...told(record("Columns"), saidOf(0)), "const reprise_column *column; /* `columns` elements */"]),
    `/* The numbers of a table. */\n${struct("reprise_numbers", record("Numbers").map(raw))}`,
    `/* A chunk of a snapshot; it has 0 bytes after the last chunk. */\n${struct("reprise_chunk", ["const void *at;", "size_t bytes;"])}`,
    ...calls()
      .filter(({ name }) => !INNER.includes(name))
      .map(prototype),
    MORE,
  ]
    .join("\n")
    .concat(END);
}

/** Returns page.h: the page's names for reprise.c. `made`: the header written by wasm2c, which contains the names in the spelling of C. */
export function page(made) {
  const spelled = found("the header of wasm2c", /\/\* export: '(\w+)' \*\/\n[^(]*?(\w+)\((\w+)\*/g, made);
  const life = [
    ["open", "instantiate"],
    ["close", "free"],
  ].map(([name, what]) => [name, found("the header of wasm2c", new RegExp(`^void (\\w+_${what})\\(`, "gm"), made)[0][1]]);
  const names = spelled.filter(([, name]) => name.startsWith("replay_"));
  return [
    "/* Generated by embed/c/header.mjs: the calls of the page, and the records that they return. */\n",
    `typedef ${names[0][3]} page;\n`,
    ...life.map(([name, spelling]) => `#define page_${name} ${spelling}\n`),
    ...names.map(([, name, spelling]) => `#define ${name.replace("replay_", "page_")} ${spelling}\n`),
    ...["Column", "Columns"].map((name) => struct(`page_${name.toLowerCase()}_record`, record(name).map(raw))),
  ].join("");
}
