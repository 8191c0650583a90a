// Checks the imports between files, and the names of declarations: `node build/direction.mjs [ROOT]` lists each file that breaks a rule, and the remedy. It
// exits with 1 if a file breaks a rule.
import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join, posix, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { read } from "./imports.mjs";
import { ANYWHERE, GENERATED, LAYERS, OUTER, RAW } from "./layers.mjs";
import { NO_NAMES } from "./names.mjs";

/** Returns the faults of a tree, one line each, and the number of files read. */
export function direction(root, layers = LAYERS) {
  const faults = [];
  const modules = new Map();
  for (const folder of Object.keys(layers)) {
    for (const file of sources(root, folder)) modules.set(file, read(readFileSync(join(root, file), "utf8")));
  }
  const rank = new Map();
  for (const [folder, order] of Object.entries(layers)) {
    const entries = order.flatMap((names, layer) => names.map((name) => ({ path: posix.join(folder, name), layer })));
    for (const { path } of entries) {
      if (![...modules.keys()].some((file) => stands(file, path))) faults.push(`build/layers.mjs: names ${path}, which is not there: take it out`);
    }
    for (const file of modules.keys()) {
      const entry = entries.find(({ path }) => stands(file, path));
      if (entry !== undefined) rank.set(file, entry);
    }
  }
  const exported = exportsOf(root);
  for (const [file, { imports, declared, names, members, outside }] of modules) {
    const fault = (line, text) => faults.push(`${file}:${line}: ${text}`);
    for (const { name, line } of file.startsWith("src/") ? declared : [])
      if (NO_NAMES.has(name)) fault(line, `declares ${name}: take a noun or a verb of the field (build/names.mjs says why)`);
    if (!rank.has(file)) fault(1, "its folder has no layer: give it one in build/layers.mjs, above all that it imports");
    for (const { to, line } of imports) {
      const wrong = judge(file, to, modules, rank);
      if (wrong !== undefined) fault(line, wrong);
    }
    for (const { of, name, line } of file.startsWith("src/") && !RAW.some((raw) => file.startsWith(raw)) ? members : []) {
      if (exported.has(name)) fault(line, `calls the core's ${name}: only ${RAW.join(" and ")} do; call a facade there, or give it one`);
      if (of === "core" && VIEWS.test(name))
        fault(line, `looks at the core's memory, or its exports, by ${name}: only ${RAW.join(" and ")} do; call a facade there, or give it one`);
    }
    if (file.startsWith("assembly/")) {
      for (const { name, line } of outside) fault(line, `${name} asks the host for something: the core has no imports; pass it in as an argument`);
    } else if (!isOuter(file)) {
      for (const { name, line } of names) {
        fault(line, `names ${name}, which only some runtimes have: take it as an option, or move the file to one of ${OUTER.join(", ")}`);
      }
    }
  }
  const circle = cycle(modules);
  if (circle !== undefined) faults.push(`${circle[0]}: imports itself, by ${circle.join(" → ")}: move what they share to a module below them`);
  return { files: modules.size, faults };
}

/** Matches the names of a core's views. Only modules in RAW may use these views and the core's exports. */
const VIEWS = /^(x|bool|[uif](8|16|32|64))$/;

/** Returns the names of the core's exports. */
function exportsOf(root) {
  const page = join(root, "src/base/abi.ts");
  const text = existsSync(page) ? readFileSync(page, "utf8") : "";
  return new Set([...text.matchAll(/^ {2}(\w+_\w+): Fn</gm)].map(([, name]) => name));
}

/** Returns the fault of an import, or undefined if it is allowed. */
function judge(file, to, modules, rank) {
  const assembly = file.startsWith("assembly/");
  if (!to.startsWith(".")) {
    if (isOuter(file)) return undefined;
    return `imports ${to}: ${assembly ? "the core" : "the engine"} depends on nothing; write it here, or take it as an ${assembly ? "argument" : "option"}`;
  }
  const target = resolved(file, to);
  const folder = file.slice(0, file.indexOf("/"));
  if (GENERATED[target] === file) return undefined;
  if (!target.startsWith(`${folder}/`)) return `imports ${target}: ${folder} knows nothing outside ${folder}; move what it needs into ${folder}`;
  if (!modules.has(target)) return `imports ${target}, which is not there: correct the path`;
  if (isOuter(target) && !isOuter(file) && !ANYWHERE.some((name) => target.startsWith(name)))
    return `imports ${target}, which may name a runtime: let that file import this one`;
  const here = rank.get(file);
  const there = rank.get(target);
  if (here === undefined || there === undefined || there.layer < here.layer || there === here) return undefined;
  return `imports ${target}, which is not below it (layer ${there.layer}, this is ${here.layer}): move what they share to a lower module, or pass it in`;
}

function resolved(file, to) {
  const path = posix.join(posix.dirname(file), to);
  return /\.[a-z]+$/.test(path) ? path : `${path}.ts`;
}

/** Returns whether a file is in a folder of a tree. The tree's own folder ("src/") only contains the files next to the other folders. */
function stands(file, folder) {
  const isTree = folder.indexOf("/") === folder.length - 1;
  return isTree ? posix.dirname(file) === folder.slice(0, -1) : file.startsWith(folder);
}

function isOuter(file) {
  return OUTER.some((folder) => file.startsWith(folder));
}

/** Returns the files of an import cycle, with the first file at both ends, or undefined if there is no cycle. */
function cycle(modules) {
  const state = new Map();
  const path = [];
  const visit = (file) => {
    if (state.get(file) === "done" || !modules.has(file)) return undefined;
    if (state.get(file) === "open") return [...path.slice(path.indexOf(file)), file];
    state.set(file, "open");
    path.push(file);
    for (const { to } of modules.get(file).imports) {
      const found = to.startsWith(".") ? visit(resolved(file, to)) : undefined;
      if (found !== undefined) return found;
    }
    path.pop();
    state.set(file, "done");
    return undefined;
  };
  for (const file of modules.keys()) {
    const found = visit(file);
    if (found !== undefined) return found;
  }
  return undefined;
}

function sources(root, folder) {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { recursive: true })
    .map((name) => `${folder}/${name.replaceAll("\\", "/")}`)
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".d.ts"))
    .sort();
}

if (realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const { files, faults } = direction(resolve(process.argv[2] ?? dirname(dirname(fileURLToPath(import.meta.url)))));
  for (const fault of faults) console.error(fault);
  console.log(`direction: ${files} files, ${faults.length} wrong`);
  process.exitCode = faults.length === 0 ? 0 : 1;
}
