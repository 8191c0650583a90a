// The steps of a build.
import { copyFileSync, rmSync, writeFileSync } from "node:fs";
import { execute, files, npm, root, step } from "./step.mjs";
import { writeBytes } from "./wasm-bytes.mjs";

export { bundle, programs } from "./bundle.mjs";
export { operations } from "./operations.mjs";
export { files, npm, root, step };

/** Installs the packages of package-lock.json. */
export async function dependencies() {
  await step("dependencies", "node_modules/.reprise-stamp", ["package-lock.json"], () => npm(["ci"], root));
}

/** The modules to compile, by target of asconfig.json. The package inlines release, other hosts use embed, and only tests and benchmarks use kernels.wasm. */
const TARGETS = {
  release: { entry: "assembly/index.ts", file: "dist/core.wasm" },
  scalar: { entry: "assembly/index.ts", file: "dist/core.scalar.wasm" },
  embed: { entry: "assembly/embed.ts", file: "dist/embed.wasm" },
  embedScalar: { entry: "assembly/embed.ts", file: "dist/embed.scalar.wasm" },
  debug: { entry: "assembly/index.ts", file: "dist/core.debug.wasm" },
  kernels: { entry: "assembly/kernels.ts", file: "dist/kernels.wasm" },
};

export const TARGET_NAMES = Object.keys(TARGETS);

/** Compiles the given targets. */
export async function core(targets = ["release"]) {
  const sources = [...files("assembly"), "asconfig.json", "package-lock.json", "build/steps.mjs", "build/wasm-bytes.mjs"];
  for (const target of targets) {
    await step(`core (${target})`, `dist/.stamp-core-${target}`, sources, () => {
      const { entry, file } = TARGETS[target];
      execute(process.execPath, ["node_modules/assemblyscript/bin/asc.js", entry, "--config", "asconfig.json", "--target", target, "-o", file]);
      if (target === "release") writeBytes(file);
    });
    // The Python module finds these files in its own folder, both in the clone and when installed. A wheel cannot include a license from a parent folder.
    if (target === "embed") {
      copyFileSync(TARGETS.embed.file, "embed/python/reprise_replay/embed.wasm");
      copyFileSync("LICENSE", "embed/python/LICENSE");
    }
  }
}

/** The declarations of the WebAssembly subpaths, which a host or a bundler imports. */
const WASM = (name, what) => `import "./base/host.js";

/** ${what} */
declare const ${name}: WebAssembly.Module;
export default ${name};
`;

/** Creates the declarations of all entries without checking them, because `npm run check` does that. */
export async function declarations() {
  await step("types", "dist/.stamp-types", [...files("src"), "tsconfig.json", "tsconfig.build.json", "build/steps.mjs"], () => {
    rmSync("dist/types", { recursive: true, force: true });
    execute(process.execPath, ["node_modules/typescript/bin/tsc", "-p", "tsconfig.build.json"]);
    writeFileSync("dist/types/core.wasm.d.ts", WASM("core", "The core, for the option `module`."));
    writeFileSync("dist/types/embed.wasm.d.ts", WASM("embed", "A Replay for hosts without JavaScript: docs/embed/protocol.md."));
  });
}
