// The order of a module's functions, which means nothing to an engine: those of one type together, so that their list of types compresses to
// nothing, and short before long, so that like follows like.
import { execFileSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";

/** Sorts the functions of a module without names or imports. */
export function orderFunctions(wasmFile, features) {
  const textFile = wasmFile.replace(/\.wasm$/, ".wat");
  const binaryen = (tool, ...args) => execFileSync(process.execPath, [`node_modules/binaryen/bin/${tool}`, ...features, ...args], { stdio: "inherit" });
  binaryen("wasm-dis", wasmFile, "-o", textFile);
  // One field a line that begins with one space, the closing bracket of the module aside.
  const fields = readFileSync(textFile, "utf8")
    .replace(/\n\)\s*$/, "")
    .split(/\n(?= \()/);
  const functions = fields.filter(isFunction).sort((a, b) => typeOf(a).length - typeOf(b).length || compare(typeOf(a), typeOf(b)) || a.length - b.length);
  writeFileSync(textFile, [...fields.filter((field) => !isFunction(field)), ...functions, ")"].join("\n"));
  binaryen("wasm-as", textFile, "-o", wasmFile);
  rmSync(textFile);
}

function isFunction(field) {
  return field.startsWith(" (func ");
}

/** Parameters and result as written behind the name. */
function typeOf(field) {
  const [head] = field.split("\n", 1);
  return head.replace(/^ \(func \S+/, "").replace(/\$\d+ /g, "");
}

function compare(a, b) {
  return a < b ? -1 : a > b ? 1 : 0;
}
