// Lists the templates of all errors and warnings, by folder and code, so that a reader can scan them. `node build/messages.mjs [ROOT]` prints the list, and
// `--write` writes it to test/package/messages.txt. It searches the syntax trees for texts that become the message of an error, directly or through a helper.
import { readdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, posix, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { textsOf } from "./texts.mjs";

// TypeScript is loaded with `require`, because an import would first search all 9 MB of it for names.
const ts = createRequire(import.meta.url)("typescript");

const FOLDERS = ["assembly/embed", "embed/c", "embed/lua", "embed/python/reprise_replay", "page", "src"];
export const GOLDEN = "test/package/messages.txt";

/** Functions that build a message: the code, and the parts of the message as texts or argument indices. */
const BUILDERS = {
  ReplayError: { code: 0, parts: [1] },
  RldsError: { code: 0, parts: [1] },
  corruptFile: { code: "CORRUPT", parts: [1] },
  unsupportedFile: { code: "UNSUPPORTED", parts: [1] },
  mustBe: { code: 0, parts: [1, " must be ", 2, ", got ", { name: "value" }] },
  mustBeOneOf: { code: 0, parts: [1, " must be one of ", 2, ", got ", { name: "value" }] },
  isRequired: { code: "REQUIRED", parts: [0, " is required: ", 1] },
  UsageError: { code: "USAGE", parts: [0] },
  InvalidArgumentError: { code: "USAGE", parts: [0] },
};
/** The beginnings of the core's refusals: the code, unless an argument contains it, and the parts of the text. */
const HEADS = {
  of: { parts: [] },
  here: { parts: [`line \${line}: `] },
  wrong: { code: "INVALID_DATA", parts: [`step[\${step}]: \${path}[\${element}]`] },
  differs: { code: "SPEC_MISMATCH", parts: [1, ` of the writer \${name} must be `] },
};
/** The helpers of the core that refuse with a text from their caller. */
const REFUSALS = {
  ...Object.fromEntries(["want", "keep", "integer", "number"].map((name) => [name, { code: "INVALID", parts: [`line \${line}: `, 0, " is required"] }])),
  refused: { code: "INVALID", parts: [`line \${line}: `, 0, " must be ", 1, `, got \${word}`] },
  unknown: { code: "INVALID", parts: [`line \${line}: the word must be `, 0, `, got \${word}`] },
  corrupt: { code: "CORRUPT", parts: ["the snapshot is damaged: ", 0] },
};
/** Matches the code before a text without an error code in Python, Lua or C, if that text is a message. */
const RAISED = /(?:Error|_shut|fail)\([\w.,\s]*f?$|"message": f?$/;
/** Matches the code before a text without an error code if that text is the message of a protocol error. */
const PROTOCOL = /(?:ProtocolError|_shut)\([\w.,\s]*f?$/;
/** Matches the names of methods that log their first argument as a warning. */
const LOGS = /^(?:warn|log)$/;
const BASE = "src/base/error.ts";
const MAX_ROUNDS = 4;

/** Returns the list as text: a heading per folder, then a line per message, with its code. */
export function messages(root) {
  const files = FOLDERS.flatMap((folder) => sources(root, folder)).map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }));
  const found = new Map();
  const add = (path, code, message) => {
    const text = message
      .replace(/ must be given(.*?), got \$\{\w+\}/, " is required$1")
      .replace(/\s+/g, " ")
      .trim();
    if (!/[a-z]{2}.* .*[a-z]{2}/.test(text.replace(/\$\{[^}]*\}/g, "x"))) return;
    const folder = dirname(path).split("/").slice(0, 3).join("/");
    found.set(folder, (found.get(folder) ?? new Set()).add(`${code.padEnd(14)} ${text}`));
  };
  const trees = files.flatMap(({ path, text }) => (path.endsWith(".ts") ? [[path, ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)]] : []));
  const source = trees.filter(([path]) => !path.startsWith("assembly/"));
  const builders = buildersIn(source);
  for (const [path, tree] of source) for (const { code, message } of built(path, tree, builders)) add(path, code, message);
  for (const [path, tree] of trees) if (path.startsWith("assembly/")) for (const { code, message } of refusals(tree)) add(path, code, message);
  for (const { path, text } of files)
    if (!path.endsWith(".ts"))
      for (const { kind, offset, text: blanked } of textsOf(path, text)) {
        const literal = text.slice(offset, offset + blanked.length).replace(/^["']|["']$/g, "");
        const code = /^([A-Z_]{2,}): /.exec(literal)?.[1];
        const before = text.slice(0, offset);
        const rule = /\bfield\((?!.*(?:\bcounts?\(|for name in)).*, $/.test(before) && text[offset + blanked.length] === ")" ? `\${name} must be ` : "";
        if (kind === "literal" && (code !== undefined || rule !== "" || RAISED.test(before)))
          add(
            path,
            code ?? (rule !== "" || PROTOCOL.test(before) ? "INVALID_DATA" : "-"),
            rule + literal.replace(/^[A-Z_]{2,}: /, "").replace(/\{(\w[^{}]*)\}/g, "$$$&"),
          );
      }
  const folders = [...found].sort(([a], [b]) => (a < b ? -1 : 1));
  return `${folders.map(([folder, lines]) => `# ${folder}\n${[...lines].sort().join("\n")}\n`).join("\n")}`;
}

function sources(root, folder) {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .flatMap((entry) => (entry.isDirectory() ? sources(root, `${folder}/${entry.name}`) : [`${folder}/${entry.name}`]))
    .filter((path) => /(?<!\.d)\.(?:ts|py|lua|c)$/.test(path));
}

/** Returns the helpers that put a parameter into a message, by the file and name of their declaration. Leaves out the functions in BUILDERS. */
function buildersIn(trees) {
  const builders = new Map([[`${BASE}#corrupt`, { code: "CORRUPT", parts: [0, ": ", 1] }]]);
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const before = builders.size;
    for (const [path, tree] of trees) {
      if (path === BASE) continue;
      for (const { code, parts, owner } of built(path, tree, builders)) {
        if (owner === undefined || builders.has(owner.key) || Object.hasOwn(BUILDERS, owner.name)) continue;
        const places = parts.map((part) => (typeof part === "object" ? owner.parameters.indexOf(part.name) : part));
        if (!places.some((place) => typeof place === "number" && place >= 0)) continue;
        builders.set(owner.key, { code, parts: places.map((place, k) => (place === -1 ? `\${${parts[k].name}}` : place)) });
      }
    }
    if (builders.size === before) break;
  }
  return builders;
}

/** Yields the messages that a file builds: {code, message, parts, owner}, where `owner` is the enclosing function. */
function* built(path, tree, builders) {
  const imports = importsOf(path, tree);
  const nodes = [tree];
  for (let node = nodes.pop(); node !== undefined; node = nodes.pop()) {
    ts.forEachChild(node, (child) => void nodes.push(child));
    if (isPending(node)) yield { code: "WARNING", parts: partsOf(node.right), message: texted(partsOf(node.right)) };
    if (!ts.isCallExpression(node) && !ts.isNewExpression(node)) continue;
    const args = node.arguments ?? [];
    const name = lastName(node.expression);
    if (args.length === 0 || name === undefined) continue;
    const helper = builders.get(keyOf(node.expression, name, path, imports));
    const builder = (Object.hasOwn(BUILDERS, name) ? BUILDERS[name] : undefined) ?? helper ?? standard(node, name);
    if (builder === undefined) continue;
    // An array contains a rule and its remedy. The remedy follows the value in the message.
    const pair = name === "mustBe" && args[2] !== undefined && ts.isArrayLiteralExpression(args[2]) ? args[2].elements : undefined;
    const given = builder.parts.map((part) =>
      typeof part === "number" && args[part] !== undefined ? partsOf(part === 2 && pair ? pair[0] : args[part]) : [part],
    );
    if (pair !== undefined) given.push(remedyOf(pair[1]));
    // The message of a helper is listed with the names of its parameters, and again with its arguments if these are sentences.
    if (builder === helper && !given.flat().some((part) => typeof part === "string" && !builder.parts.includes(part) && part.trim().includes(" "))) continue;
    const parts = given.flat().filter((part) => typeof part !== "number");
    const owner = ownerOf(node, path);
    const code = typeof builder.code === "number" ? codeOf(args[builder.code]) : builder.code;
    yield { code, parts, owner, message: texted(parts) };
  }
}

/** Returns the parts of a remedy, which follows the value, in brackets if the remedy is optional. */
function remedyOf(node) {
  const text = texted(partsOf(node));
  return text.startsWith("[") ? [`[. ${text.slice(1)}`] : [`. ${text}`];
}

/** Returns the imports of a file from its own package: the file and name of each declaration, by local name. */
function importsOf(path, tree) {
  const imports = new Map();
  for (const statement of tree.statements) {
    const bindings = ts.isImportDeclaration(statement) ? statement.importClause?.namedBindings : undefined;
    if (bindings === undefined || !ts.isNamedImports(bindings) || !statement.moduleSpecifier.text.startsWith(".")) continue;
    const file = posix.join(posix.dirname(path), statement.moduleSpecifier.text);
    for (const { name, propertyName } of bindings.elements) imports.set(name.text, `${file}#${(propertyName ?? name).text}`);
  }
  return imports;
}

/** Returns the key `file#name` of a callee's declaration. Methods of `this` belong to this file; for methods of other objects, returns undefined. */
function keyOf(callee, name, path, imports) {
  if (ts.isIdentifier(callee)) return imports.get(name) ?? `${path}#${name}`;
  return callee.expression.kind === ts.SyntaxKind.ThisKeyword ? `${path}#${name}` : undefined;
}

/** Returns whether a node assigns a text to `pending`, which stores a warning for the end of the call. */
function isPending(node) {
  if (!ts.isBinaryExpression(node) || node.operatorToken.kind !== ts.SyntaxKind.EqualsToken || lastName(node.left) !== "pending") return false;
  return ts.isTemplateExpression(node.right);
}

function standard(node, name = "") {
  if (ts.isNewExpression(node) && /Error$/.test(name)) return { code: name, parts: [0] };
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return undefined;
  return LOGS.test(name) || lastName(node.expression.expression) === "unsaid" ? { code: "WARNING", parts: [0] } : undefined;
}

function codeOf(node) {
  if (node === undefined) return "-";
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isConditionalExpression(node)) return `${codeOf(node.whenTrue)}|${codeOf(node.whenFalse)}`;
  return ts.isIdentifier(node) && /Error$/.test(node.text) ? node.text : "-";
}

/** Returns the enclosing named function of a node, with the names of its parameters. */
function ownerOf(node, path) {
  for (let at = node.parent; at !== undefined; at = at.parent) {
    if (!ts.isFunctionLike(at)) continue;
    const name = at.name ?? (ts.isVariableDeclaration(at.parent) ? at.parent.name : undefined);
    if (name === undefined || !(ts.isIdentifier(name) || ts.isPrivateIdentifier(name))) continue;
    const parameters = at.parameters.map((parameter) => (ts.isIdentifier(parameter.name) ? parameter.name.text : ""));
    return { key: `${path}#${name.text.replace("#", "")}`, name: name.text, parameters };
  }
  return undefined;
}

/** Returns an expression as parts of a message: texts, and {name} for values known only at run time. */
function partsOf(node, depth = 0) {
  if (ts.isStringLiteralLike(node)) return [node.text];
  if (ts.isParenthesizedExpression(node) || ts.isAsExpression(node) || ts.isNonNullExpression(node)) return partsOf(node.expression, depth);
  if (ts.isTemplateExpression(node))
    return [node.head.text, ...node.templateSpans.flatMap(({ expression, literal }) => [...partsOf(expression, depth), literal.text])];
  if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.PlusToken) return [...partsOf(node.left, depth), ...partsOf(node.right, depth)];
  if (ts.isConditionalExpression(node)) {
    const [first, second] = [node.whenTrue, node.whenFalse].map((branch) => texted(partsOf(branch, depth)));
    return [first === "" || second === "" ? `[${first}${second}]` : `{${first}|${second}}`];
  }
  if (ts.isIdentifier(node)) {
    const constant = depth < 3 ? constantOf(node) : undefined;
    return constant === undefined ? [{ name: node.text }] : partsOf(constant, depth + 1);
  }
  if (ts.isCallExpression(node) && lastName(node.expression) === "escapeControls") return partsOf(node.arguments[0], depth);
  if (ts.isCallExpression(node) && lastName(node.expression) === "addSentence") {
    const [message, sentence] = node.arguments;
    return [...partsOf(message, depth), "[.] ", ...partsOf(sentence, depth)];
  }
  if (ts.isCallExpression(node) && lastName(node.expression) === "countText") {
    const [count, singular, plural] = node.arguments;
    return [{ name: shortName(count) }, ` ${plural?.text ?? `${singular.text}s`}`];
  }
  if (ts.isCallExpression(node) && lastName(node.expression) === "didYouMean") return ['[ Did you mean "…"?]'];
  return [{ name: shortName(node) }];
}

function texted(parts) {
  return parts.map((part) => (typeof part === "object" ? `\${${part.name}}` : part)).join("");
}

/** Returns the text of the constant that an identifier names, if it is declared in the file or in an enclosing block. */
function constantOf(node) {
  for (let at = node.parent; at !== undefined; at = at.parent) {
    if (ts.isFunctionLike(at) && at.parameters.some(({ name }) => ts.isIdentifier(name) && name.text === node.text)) return undefined;
    const statements = ts.isBlock(at) || ts.isSourceFile(at) ? at.statements : [];
    for (const statement of statements) {
      if (!ts.isVariableStatement(statement)) continue;
      const found = statement.declarationList.declarations.find(({ name }) => ts.isIdentifier(name) && name.text === node.text);
      if (found === undefined) continue;
      const { initializer } = found;
      const isText =
        initializer !== undefined && (ts.isStringLiteralLike(initializer) || ts.isTemplateExpression(initializer) || ts.isConditionalExpression(initializer));
      return isText ? initializer : undefined;
    }
  }
  return undefined;
}

/** Returns `name` for `show(name)`, `a.name`, `names.join(", ")` and `f(name)`. */
function shortName(node) {
  if (ts.isIdentifier(node) || ts.isPrivateIdentifier(node)) return node.text.replace("#", "");
  if (ts.isPropertyAccessExpression(node)) return node.name.text === "length" ? `${shortName(node.expression)}.length` : node.name.text.replace("#", "");
  if (ts.isElementAccessExpression(node) || ts.isNonNullExpression(node) || ts.isAsExpression(node) || ts.isParenthesizedExpression(node))
    return shortName(node.expression);
  if (ts.isCallExpression(node)) {
    const isMethod =
      ts.isPropertyAccessExpression(node.expression) &&
      /^(?:join|map|slice|filter|sort|toFixed|toString|trim|replaceAll|replace)$/.test(node.expression.name.text);
    if (isMethod) return shortName(node.expression.expression);
    const [first] = node.arguments;
    return first === undefined || ts.isFunctionLike(first) || ts.isObjectLiteralExpression(first) ? shortName(node.expression) : shortName(first);
  }
  if (ts.isBinaryExpression(node)) return shortName(node.left);
  if (ts.isArrayLiteralExpression(node)) return node.elements.length === 0 ? "…" : shortName(node.elements[0]);
  if (ts.isSpreadElement(node) || ts.isPrefixUnaryExpression(node)) return shortName(node.expression ?? node.operand);
  return "…";
}

function lastName(node) {
  if (ts.isIdentifier(node)) return node.text;
  return ts.isPropertyAccessExpression(node) ? node.name.text.replace("#", "") : undefined;
}

/** Yields the messages of embed.wasm: chains of `put`, `word` and `number` on a Refusal, and the messages of the helpers in REFUSALS. */
function* refusals(tree) {
  const nodes = [tree];
  for (let node = nodes.pop(); node !== undefined; node = nodes.pop()) {
    ts.forEachChild(node, (child) => void nodes.push(child));
    if (ts.isVariableDeclaration(node) && node.initializer !== undefined) {
      const chain = chainOf(node.initializer);
      if (chain?.isWhole) for (const message of continued(statementsAfter(node), node.name.text, chain.message)) yield { code: chain.code, message };
    }
    if (!ts.isCallExpression(node)) continue;
    const name = lastName(node.expression);
    const helper = Object.hasOwn(REFUSALS, name) ? REFUSALS[name] : undefined;
    const texts = helper?.parts.map((part) => (typeof part === "number" ? textOf(node.arguments[part]) : part));
    if (texts !== undefined && !texts.includes(undefined)) yield { code: helper.code, message: texts.join("") };
    const chain = isOuter(node) ? chainOf(node) : undefined;
    if (chain?.isWhole && !chain.message.endsWith(" must be ")) yield { code: chain.code, message: chain.message };
  }
}

/** Returns the text of a literal, or of a choice between literals. */
function textOf(node) {
  if (node === undefined || !(ts.isStringLiteral(node) || ts.isConditionalExpression(node))) return undefined;
  const text = texted(partsOf(node));
  return text.includes("$") ? undefined : text;
}

/** Returns whether a call is the end of its chain, and no declaration stores its result. */
function isOuter({ parent }) {
  let at = parent;
  while (ts.isPropertyAccessExpression(at) && at.name.text === "code") at = at.parent;
  if (ts.isVariableDeclaration(at)) return false;
  return !(ts.isPropertyAccessExpression(at) || (ts.isCallExpression(at) && lastName(at.expression) === "got"));
}

/** Returns the statements that follow a declaration in the same block. */
function statementsAfter(declaration) {
  const statement = declaration.parent.parent;
  const { statements = [] } = statement.parent;
  return statements.slice(statements.indexOf(statement) + 1);
}

/** Returns the messages that statements build from a refusal in the variable `name`, whose text begins with `head`. */
function continued(statements, name, head) {
  const messages = [];
  let text = head;
  for (const statement of statements) {
    const then = ts.isIfStatement(statement) ? statement.thenStatement : undefined;
    if (then !== undefined && isReturn(then)) messages.push(text + appended(then, name));
    else text += appended(statement, name);
    if (ts.isReturnStatement(statement)) break;
  }
  return text === head && messages.length > 0 ? messages : [...messages, text];
}

function isReturn(node) {
  return ts.isReturnStatement(node) || (ts.isBlock(node) && node.statements.some(ts.isReturnStatement));
}

/** Returns the text that a statement appends to the refusal in the variable `name`: [text] if it is conditional, {one|other} for a choice. */
function appended(node, name) {
  if (ts.isBlock(node)) return node.statements.map((statement) => appended(statement, name)).join("");
  if (ts.isIfStatement(node)) {
    const [first, second] = [node.thenStatement, node.elseStatement].map((branch) => (branch === undefined ? "" : appended(branch, name)));
    if (first === "" && second === "") return "";
    return first === "" || second === "" ? `[${first}${second}]` : `{${first}|${second}}`;
  }
  if (ts.isForStatement(node)) return appended(node.statement, name).replace(/(.+)/s, "[$1 …]");
  if (!(ts.isExpressionStatement(node) || ts.isReturnStatement(node)) || node.expression === undefined) return "";
  const chain = chainOf(node.expression);
  return chain?.root === name ? chain.message : "";
}

/** Returns a chain of calls that append to a refusal. The chain is whole if it begins the refusal; otherwise `root` is the name of its variable. */
function chainOf(node) {
  const links = [];
  let at = node;
  for (; ts.isPropertyAccessExpression(at) || ts.isCallExpression(at); at = at.expression) {
    if (!ts.isCallExpression(at)) continue;
    const [first] = at.arguments;
    const name = lastName(at.expression);
    if (first === undefined || name === undefined) return undefined;
    if (name === "put") links.unshift(texted(partsOf(first)));
    else if (name === "word" || name === "number") links.unshift(`\${${shortName(first)}}`);
    else if (name === "index") links.unshift(`[\${${shortName(first)}}]`);
    else if (name === "got") return withEnd(chainOf(first), `, got \${word}`);
    else if (Object.hasOwn(HEADS, name)) {
      const { code = /^(?:E_)?([A-Z_]+)$/.exec(shortName(first))?.[1] ?? "-", parts } = HEADS[name];
      const head = parts.map((part) => (typeof part === "number" ? texted(partsOf(at.arguments[part])) : part));
      return { isWhole: true, code, message: [...head, ...links].join("") };
    } else if (ts.isIdentifier(at.expression) && ts.isIdentifier(first)) {
      return { root: first.text, message: [`\${${shortName(at.arguments.at(-1))}}`, ...links].join("") };
    } else return undefined;
  }
  return links.length > 0 && ts.isIdentifier(at) ? { root: at.text, message: links.join("") } : undefined;
}

function withEnd(chain, end) {
  return chain && { ...chain, message: chain.message + end };
}

if (realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const args = process.argv.slice(2);
  const [given] = args.filter((arg) => !arg.startsWith("--"));
  const root = resolve(given ?? dirname(dirname(fileURLToPath(import.meta.url))));
  const text = messages(root);
  if (args.includes("--write")) writeFileSync(join(root, GOLDEN), text);
  else process.stdout.write(text);
}
