/** The core as a module, compiled once: the only file that compiles WebAssembly. A host that forbids that gives a module instead, and then nothing is compiled. */
import bytes from "../../dist/core-bytes.js";
import { ABI_VERSION, type Exports } from "../base/abi.ts";
import { mustBe, ReplayError } from "../base/error.ts";

let defaultModule: WebAssembly.Module | undefined;

/** Sets the core that a host without a compiler imported; it is used in place of the built-in bytes. */
export function setModule(module: WebAssembly.Module): void {
  defaultModule = moduleOf(module);
}

/** The module of the argument, or the default one. */
export function moduleOf(module?: WebAssembly.Module): WebAssembly.Module {
  if (module !== undefined) {
    // Also one of another realm.
    if (Object.prototype.toString.call(module) !== "[object WebAssembly.Module]")
      throw mustBe(TypeError, "module", "a WebAssembly.Module, such as await WebAssembly.compile(bytes) gives", module);
    return module;
  }
  defaultModule ??= compile();
  return defaultModule;
}

/** @throws ReplayError UNSUPPORTED where the host compiles nothing: a page by its policy, or an edge runtime */
function compile(): WebAssembly.Module {
  try {
    return new WebAssembly.Module(decode(bytes));
  } catch (cause) {
    const remedy = `let the page's Content-Security-Policy have 'wasm-unsafe-eval', or give the option module: a WebAssembly.Module of reprise/core.wasm`;
    const error = new ReplayError("UNSUPPORTED", `this host does not compile WebAssembly (${(cause as Error)?.message}): ${remedy}`);
    error.cause = cause;
    throw error;
  }
}

/** Reads bytes from the text that build/wasm-bytes.mjs makes of them. A loop, since `Uint8Array.from` calls a function for each. */
function decode(text: string): Uint8Array<ArrayBuffer> {
  const raw = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    raw[i] = code - (code < 127 ? 41 : 75);
  }
  return raw;
}

/** A new instance, with a memory of its own. @throws ReplayError UNSUPPORTED for another version's module, or what is none of ours */
export function instance(module?: WebAssembly.Module): Exports {
  // Copied: V8 calls functions of a plain object faster than those of the module's own, which has no prototype.
  const exports = { ...new WebAssembly.Instance(moduleOf(module), {}).exports } as unknown as Exports;
  const version = exports.ABI_VERSION?.value;
  if (version !== ABI_VERSION) throw mustBe("UNSUPPORTED", "module", `a core of ABI version ${ABI_VERSION}`, version);
  return exports;
}
