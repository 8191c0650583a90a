/** Compiles the core once as a module. Only this file compiles WebAssembly. If the host forbids compiling, the program passes a compiled module instead. */
import bytes from "../../dist/core-bytes.js";
import { ABI_VERSION, type Exports } from "../base/abi.ts";
import { mustBe, ReplayError } from "../base/error.ts";

let defaultModule: WebAssembly.Module | undefined;

/** Sets the core that a host without a compiler imported. This module replaces the built-in bytes. */
export function setModule(module: WebAssembly.Module): void {
  defaultModule = moduleOf(module);
}

/** Returns the passed module, or the default module. */
export function moduleOf(module?: WebAssembly.Module): WebAssembly.Module {
  if (module !== undefined) {
    // The check also accepts modules from other realms.
    if (Object.prototype.toString.call(module) !== "[object WebAssembly.Module]")
      throw mustBe(TypeError, "module", "a WebAssembly.Module, such as the result of await WebAssembly.compile(bytes)", module);
    return module;
  }
  defaultModule ??= compile();
  return defaultModule;
}

/**
 * Compiles the built-in bytes.
 * @throws ReplayError UNSUPPORTED if the host does not compile WebAssembly, such as a page with a strict policy or an edge runtime
 */
function compile(): WebAssembly.Module {
  try {
    return new WebAssembly.Module(decode(bytes));
  } catch (cause) {
    const remedy = `Add 'wasm-unsafe-eval' to the page's Content-Security-Policy, or pass the option module: a WebAssembly.Module of reprise/core.wasm`;
    const error = new ReplayError("UNSUPPORTED", `this host does not compile WebAssembly (${(cause as Error)?.message}). ${remedy}`);
    error.cause = cause;
    throw error;
  }
}

/** Decodes bytes from the text that build/wasm-bytes.mjs makes. Code that has just begun to run reads from an array faster than from a text. */
function decode(text: string): Uint8Array<ArrayBuffer> {
  const raw = new TextEncoder().encode(text);
  const { length } = raw;
  let n = 0;
  for (let i = 0; i < length; i++) {
    const code = raw[i] as number;
    raw[n++] = code < 125 ? code - 36 : (raw[++i] as number) + (code === 125 ? 57 : 139);
  }
  return raw.subarray(0, n);
}

/** Returns a new instance with its own memory. @throws ReplayError UNSUPPORTED if the module is not this version of the core */
export function instance(module?: WebAssembly.Module): Exports {
  // The exports are copied, because V8 calls functions of a plain object faster than those of the module's exports, which have no prototype.
  const exports = { ...new WebAssembly.Instance(moduleOf(module), {}).exports } as unknown as Exports;
  const version = exports.ABI_VERSION?.value;
  if (version !== ABI_VERSION) {
    const found = version === undefined ? "a module without a version" : `version ${version}`;
    throw new ReplayError(
      "UNSUPPORTED",
      `module must be a core of ABI version ${ABI_VERSION}, got ${found}. Pass the module of reprise/core.wasm of this package`,
    );
  }
  return exports;
}
