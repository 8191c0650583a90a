/** Node's own modules, which Deno and Bun have too. A host hands them out; where it does not (before Node 20.16), they come by a name that leads to nothing in a page. */

/** What is used of `process`. */
export interface Host {
  readonly pid: number;
  readonly platform: string;
  readonly versions?: { readonly node?: string };
  kill(pid: number, signal: number): void;
  getBuiltinModule?(name: string): unknown;
}

export const host = (globalThis as { process?: Host }).process;

/** Whether there are such modules. */
export const hasBuiltins: boolean = host?.versions?.node !== undefined;

/** A module, where the host hands it out; else undefined. */
export function getBuiltin(name: BuiltinName): unknown {
  return host?.getBuiltinModule?.(name);
}

/** A module. Only where `hasBuiltins`. @throws Error where the host hands out none, and a bundler has taken it for a page */
export async function builtin<M>(name: BuiltinName): Promise<M> {
  const found = getBuiltin(name) ?? (await import("#builtins")).builtins[name];
  if (found === undefined) throw new Error(`this runtime has no ${name}; where a bundler made this program, it must ask for the condition node`);
  return found as M;
}

export type BuiltinName = "node:fs" | "node:fs/promises" | "node:http2" | "node:os" | "node:path" | "node:zlib";
