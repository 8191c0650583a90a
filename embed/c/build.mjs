// Builds the library for C in dist/embed/c/: its header, its sources in plain C, and a static and a shared library. Requires wasm2c and a C compiler.
import { copyFileSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { execute, files, root, step } from "../../build/step.mjs";
import { header, page } from "./header.mjs";
import { CC, FLAGS, needed, wasm2c } from "./tools.mjs";

const MODULE = "dist/embed.scalar.wasm";
export const OUT = join(root, "dist/embed/c");

/** Builds the library, and the player of recorded operations, which also measures the library's speed. */
export async function buildC() {
  const program = wasm2c();
  needed(CC, "Debian's packages gcc and libc6-dev, or set CC");
  needed("ar", "Debian's package binutils");
  const sources = [MODULE, "docs/embed/protocol.md", "assembly/embed.ts", "package-lock.json", ...files("assembly/embed"), ...files("embed/c")];
  await step("the library for C", "dist/embed/c/.stamp", sources, () => {
    mkdirSync(OUT, { recursive: true });
    execute(program, [join(root, MODULE), "-n", "reprise_core", "-o", "core.inc"], OUT);
    writeFileSync(join(OUT, "reprise.h"), header());
    writeFileSync(join(OUT, "page.h"), page(readFileSync(join(OUT, "core.inc.h"), "utf8")));
    for (const name of ["reprise.c", "runtime.h"]) copyFileSync(join("embed/c", name), join(OUT, name));
    copyFileSync(join(dirname(realpathSync(program)), "../include/wasm-rt.h"), join(OUT, "wasm-rt.h"));
    execute(CC, [...FLAGS, "-O3", "-fPIC", "-fvisibility=hidden", "-c", "reprise.c", "-o", "reprise.o"], OUT);
    execute("ar", ["rcs", "libreprise.a", "reprise.o"], OUT);
    execute(CC, ["-shared", "reprise.o", "-lm", "-o", "libreprise.so"], OUT);
    execute(CC, [...FLAGS, "-O2", `-I${OUT}`, join(root, "embed/c/player.c"), "libreprise.a", "-lm", "-o", "player"], OUT);
  });
}
