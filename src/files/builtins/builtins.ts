/**
 * Loads Node's built-in modules, which Deno and Bun also have. The host returns the modules synchronously. A Node without `process.getBuiltinModule` (before
 * 20.16, 21, and 22 before 22.3) cannot do that, so the modules are imported there through `#builtins` instead, which is an empty module in a page.
 */

/** The part of `process` that Reprise uses. */
export interface Host {
  readonly pid: number;
  readonly platform: string;
  readonly versions?: { readonly node?: string };
  kill(pid: number, signal: number): void;
  getBuiltinModule?(name: string): unknown;
}

export const host = (globalThis as { process?: Host }).process;

/** Whether the host has Node's built-in modules. */
export const hasBuiltins: boolean = host?.versions?.node !== undefined;

/** Returns a module if the host provides it synchronously; otherwise undefined. */
export function getBuiltin(name: BuiltinName): unknown {
  return host?.getBuiltinModule?.(name);
}

/**
 * Returns a module, and imports it if necessary. Requires `hasBuiltins`.
 * @throws Error if the host has no such module because the program was bundled for a page
 */
export async function builtin<M>(name: BuiltinName): Promise<M> {
  const found = getBuiltin(name) ?? (await import("#builtins")).builtins[name];
  if (found === undefined) throw new Error(`this runtime has no ${name}. If this program is bundled, enable the export condition "node" in the bundler`);
  return found as M;
}

export type BuiltinName = "node:fs" | "node:fs/promises" | "node:http2" | "node:os" | "node:path" | "node:zlib";
