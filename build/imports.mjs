// Finds what a TypeScript or AssemblyScript file imports and names, with lines. It reads the syntax tree, so that comments and strings do not count.
import { createRequire } from "node:module";

// Imported, all 9 MB of it would be searched for names first.
const ts = createRequire(import.meta.url)("typescript");

const RUNTIME = new Set(["Buffer", "Bun", "Deno", "document", "process", "require", "window"]);

const { BindingElement, ClassDeclaration, FunctionDeclaration, GetAccessor, InterfaceDeclaration, MethodDeclaration, MethodSignature } = ts.SyntaxKind;
const { Parameter, PropertyDeclaration, PropertySignature, SetAccessor, TypeAliasDeclaration, VariableDeclaration } = ts.SyntaxKind;
const DECLARATIONS = new Set([
  ...[BindingElement, ClassDeclaration, FunctionDeclaration, GetAccessor, InterfaceDeclaration, MethodDeclaration, MethodSignature],
  ...[Parameter, PropertyDeclaration, PropertySignature, SetAccessor, TypeAliasDeclaration, VariableDeclaration],
]);

/** @returns imports as {to, line}; declared names as {name, line}; runtime names as {name, line}; members that are used as {of, name, line}, `of` the name of what has them; outside declarations (`declare`, `@external`) as {name, line} */
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

/** The string that an import, a re-export, `import()` or an import type names. */
function specifierOf(node) {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return node.moduleSpecifier;
  if (ts.isImportTypeNode(node)) return node.argument.literal;
  const imports = ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword;
  return imports && node.arguments[0] && ts.isStringLiteralLike(node.arguments[0]) ? node.arguments[0] : undefined;
}

/** `core` of `core`, `engine.core`, `this.#core`. */
function lastName(node) {
  return (ts.isPropertyAccessExpression(node) ? node.name : node).getText().replace("#", "");
}

/** Whether an identifier is being declared in this file: its uses are not the runtime's. */
function declares({ parent, text }) {
  const declared = ts.isVariableDeclaration(parent) || ts.isParameter(parent) || ts.isBindingElement(parent) || ts.isFunctionDeclaration(parent);
  return (declared || ts.isImportSpecifier(parent)) && parent.name?.text === text;
}

/** Whether a node gives a name to something of its own: a type, a function, a variable, a member. */
function isDeclaration({ kind, name, propertyName }) {
  const isName = name !== undefined && (ts.isIdentifier(name) || ts.isPrivateIdentifier(name));
  return isName && DECLARATIONS.has(kind) && (kind !== ts.SyntaxKind.BindingElement || propertyName !== undefined);
}

/** Whether an identifier only names a member of something: `.name`, `name:` */
function isKey(node) {
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent)) return parent.name === node && parent.expression.getText() !== "globalThis";
  return (
    (ts.isPropertyAssignment(parent) || ts.isClassElement(parent) || ts.isTypeElement(parent) || ts.isBindingElement(parent)) &&
    (parent.propertyName ?? parent.name) === node
  );
}
