// Finds the imports and names in a TypeScript or AssemblyScript file, with their lines. It reads the syntax tree, so comments and strings do not count.
import { createRequire } from "node:module";

// TypeScript is loaded with `require`, because an import would first search all 9 MB of it for names.
const ts = createRequire(import.meta.url)("typescript");

const RUNTIME = new Set(["Buffer", "Bun", "Deno", "document", "process", "require", "window"]);

const { BindingElement, ClassDeclaration, FunctionDeclaration, GetAccessor, InterfaceDeclaration, MethodDeclaration, MethodSignature } = ts.SyntaxKind;
const { Parameter, PropertyDeclaration, PropertySignature, SetAccessor, TypeAliasDeclaration, VariableDeclaration } = ts.SyntaxKind;
const DECLARATIONS = new Set([
  ...[BindingElement, ClassDeclaration, FunctionDeclaration, GetAccessor, InterfaceDeclaration, MethodDeclaration, MethodSignature],
  ...[Parameter, PropertyDeclaration, PropertySignature, SetAccessor, TypeAliasDeclaration, VariableDeclaration],
]);

/**
 * @returns imports as {to, line}; declared names as {name, line}; runtime names as {name, line}; used members as {of, name, line}, where `of` is the name of
 * their owner; outside declarations (`declare`, `@external`) as {name, line}
 */
export function read(text) {
  const source = ts.createSourceFile("file.ts", text, ts.ScriptTarget.Latest, true);
  const found = { imports: [], declared: [], names: [], members: [], outside: [] };
  const lineOf = (node) => source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
  const own = new Set();
  const visit = (node) => {
    const specifier = specifierOf(node);
    if (specifier !== undefined) found.imports.push({ to: specifier.text, line: lineOf(specifier) });
    if (ts.isPropertyAccessExpression(node)) found.members.push({ of: lastName(node.expression), name: node.name.text, line: lineOf(node.name) });
    if (ts.isVariableDeclaration(node) && ts.isObjectBindingPattern(node.name) && node.initializer !== undefined) {
      for (const part of node.name.elements)
        found.members.push({ of: lastName(node.initializer), name: (part.propertyName ?? part.name).getText(source), line: lineOf(part) });
    }
    if (node.kind === ts.SyntaxKind.DeclareKeyword) found.outside.push({ name: "declare", line: lineOf(node) });
    if (ts.isDecorator(node) && /^@external\b/.test(node.getText(source))) found.outside.push({ name: "@external", line: lineOf(node) });
    if (isDeclaration(node)) found.declared.push({ name: node.name.text.replace("#", ""), line: lineOf(node.name) });
    if (ts.isIdentifier(node) && RUNTIME.has(node.text)) {
      if (declares(node)) own.add(node.text);
      else if (!isKey(node)) found.names.push({ name: node.text, line: lineOf(node) });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  found.names = found.names.filter(({ name }) => !own.has(name));
  return found;
}

/** Returns the node with the module name of an import, a re-export, `import()` or an import type, or undefined for any other node. */
function specifierOf(node) {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return node.moduleSpecifier;
  if (ts.isImportTypeNode(node)) return node.argument.literal;
  const imports = ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword;
  return imports && node.arguments[0] && ts.isStringLiteralLike(node.arguments[0]) ? node.arguments[0] : undefined;
}

/** Returns `core` for `core`, `engine.core`, and `this.#core`. */
function lastName(node) {
  return (ts.isPropertyAccessExpression(node) ? node.name : node).getText().replace("#", "");
}

/** Returns whether this file declares an identifier. Its uses then do not refer to the runtime. */
function declares({ parent, text }) {
  const declared = ts.isVariableDeclaration(parent) || ts.isParameter(parent) || ts.isBindingElement(parent) || ts.isFunctionDeclaration(parent);
  return (declared || ts.isImportSpecifier(parent)) && parent.name?.text === text;
}

/** Returns whether a node declares a name: of a type, a function, a variable, or a member. */
function isDeclaration({ kind, name, propertyName }) {
  const isName = name !== undefined && (ts.isIdentifier(name) || ts.isPrivateIdentifier(name));
  return isName && DECLARATIONS.has(kind) && (kind !== ts.SyntaxKind.BindingElement || propertyName !== undefined);
}

/** Returns whether an identifier only names a member: `.name`, `name:` */
function isKey(node) {
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent)) return parent.name === node && parent.expression.getText() !== "globalThis";
  return (
    (ts.isPropertyAssignment(parent) || ts.isClassElement(parent) || ts.isTypeElement(parent) || ts.isBindingElement(parent)) &&
    (parent.propertyName ?? parent.name) === node
  );
}
