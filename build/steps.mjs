// The steps of a build.
import { rmSync } from "node:fs";
import { execute, files, npm, root, step } from "./step.mjs";
import { writeBytes } from "./wasm-bytes.mjs";
import { orderFunctions } from "./wasm-order.mjs";

export { bundle, programs } from "./bundle.mjs";
export { files, npm, root, step };

/**
 * For size in transit, measured compressed. What is not marked @inline and longer than this stays a function: code of few locals repeats itself
 * more. Common subexpressions compress better than the locals that would hold them.
 */
const INLINE = ["--always-inline-max-function-size", "6", "--one-caller-inline-max-function-size", "250"];
const SMALL = ["--low-memory-unused", ...INLINE, "-O2", "-Oz", "--converge", "--skip-pass=local-cse"];

/** For speed: where a few loops are all there is. */
const FAST = ["--low-memory-unused", "--always-inline-max-function-size", "100", "-O3"];

/** Features that every runtime has which we run in; the core's own switches (SIMD) are asc's. */
const FEATURES = ["simd", "bulk-memory", "sign-ext", "nontrapping-float-to-int", "mutable-globals"].map((feature) => `--enable-${feature}`);

/** Installs what package-lock.json says. */
export async function dependencies() {
  await step("dependencies", "node_modules/.reprise-stamp", ["package-lock.json"], () => npm(["ci"], root));
}

/**
 * What is compiled, by target: core.wasm is what the package inlines, image.wasm what its snapshots do, windows.wasm what the replay buffers of reprise/agents draw with,
 * pfrl.wasm what those of reprise/pfrl do; sections.wasm sums files, tracking.wasm and journal.wasm tell what changed; kernels.wasm is what tests and benchmarks look at alone.
 */
const TARGETS = {
  release: { entry: "assembly/index.ts", file: "dist/core.wasm" },
  scalar: { entry: "assembly/index.ts", file: "dist/core.scalar.wasm" },
  debug: { entry: "assembly/index.ts", file: "dist/core.debug.wasm" },
  image: { entry: "assembly/image.ts", file: "dist/image.wasm" },
  windows: { entry: "assembly/windows.ts", config: "image", file: "dist/windows.wasm" },
  tracking: { entry: "assembly/index.ts", file: "dist/tracking.wasm" },
  journal: { entry: "assembly/journal.ts", file: "dist/journal.wasm" },
  sections: { entry: "assembly/sections.ts", optimize: FAST, file: "dist/sections.wasm" },
  pfrl: { entry: "assembly/pfrl.ts", config: "image", file: "dist/pfrl.wasm" },
  kernels: { entry: "assembly/kernels.ts", config: "image", file: "dist/kernels.wasm" },
};

/** What the package's bundles hold. */
export const BUNDLED = ["release", "image", "windows", "pfrl", "tracking", "journal", "sections"];

/** Compiles the given targets. */
export async function core(targets = BUNDLED) {
  const sources = [...files("assembly"), "asconfig.json", "package-lock.json", "build/steps.mjs", "build/wasm-bytes.mjs", "build/wasm-order.mjs"];
  for (const target of targets) {
    await step(`core (${target})`, `dist/.stamp-core-${target}`, sources, () => {
      const { entry, config = target, optimize = SMALL, file } = TARGETS[target];
      execute(process.execPath, ["node_modules/assemblyscript/bin/asc.js", entry, "--config", "asconfig.json", "--target", config, "-o", file]);
      if (target === "debug") return;
      execute(process.execPath, ["node_modules/binaryen/bin/wasm-opt", ...optimize, ...FEATURES, file, "-o", file]);
      orderFunctions(file, FEATURES);
      if (BUNDLED.includes(target)) writeBytes(file);
    });
  }
}

/** The types of the main entry. */
export async function declarations() {
  await step("types", "dist/.stamp-types", [...files("src"), "tsconfig.json", "tsconfig.build.json"], () => {
    rmSync("dist/types", { recursive: true, force: true });
    execute(process.execPath, ["node_modules/typescript/bin/tsc", "-p", "tsconfig.build.json"]);
  });
}
