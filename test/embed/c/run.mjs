// Tests the library for C, and Lua on top of it: `npm run test:c`. Ends with `N passed, N failed`.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { checks } from "../../../.ci/checks.mjs";
import { root } from "../../../build/step.mjs";
import { OUT } from "../../../embed/c/build.mjs";
import { CC, FLAGS } from "../../../embed/c/tools.mjs";
import { EMBED } from "../../everywhere/embed.mjs";
import { learned, PADDLE } from "../lua/paddle.mjs";

const HERE = join(root, "test/embed/c");
const WORK = join(OUT, "test");
const STRICT = ["-Wall", "-Wextra", "-Werror"];
const SANITIZED = ["-O0", "-g", "-DREPRISE_MOVES", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
const SEEDS = 3;
const CALLS = 20_000;
mkdirSync(WORK, { recursive: true });

/** Returns the output of a command, or its errors if it failed. */
function run(command, args, options = {}) {
  const { status, signal, stdout, stderr, error } = spawnSync(command, args, { cwd: WORK, encoding: "utf8", ...options });
  if (status === 0) return stdout;
  throw new Error(`${command} ${args.join(" ")}: ${error?.message ?? signal ?? `exit ${status}`}\n${stdout}${stderr}`);
}

/** Compiles a program and returns its path. */
function compiled(name, sources, flags = []) {
  const program = join(WORK, name);
  run(CC, [...FLAGS, ...STRICT, `-I${OUT}`, ...sources, ...flags, "-lm", "-o", program]);
  return program;
}

/** Returns the program that a page in docs/embed shows in a language. */
function documented(page, language) {
  const text = readFileSync(join(root, `docs/embed/${page}.md`), "utf8");
  return text.split(`\n\`\`\`${language}\n`)[1].split("\n```")[0];
}

const luajit = (file, ...args) => run("luajit", [join(root, file), ...args], { cwd: root });

await checks({
  "the library exports what reprise.h declares, and nothing else"() {
    const declared = [...readFileSync(join(OUT, "reprise.h"), "utf8").matchAll(/^[^/ ].*\b(reprise_\w+)\(.*\);$/gm)].map(([, name]) => name);
    const symbols = run("nm", ["-D", "--defined-only", join(OUT, "libreprise.so")]);
    deepEqual([...symbols.matchAll(/ T (\w+)$/gm)].map(([, name]) => name).sort(), declared.sort());
    ok(declared.length > 12);
  },
  "reprise.h stands alone, in C and in C++"() {
    const header = join(OUT, "reprise.h");
    for (const language of [
      ["c", "-std=c99"],
      ["c++", "-std=c++11"],
    ])
      run(CC, ["-x", ...language, "-pedantic", ...STRICT, "-fsyntax-only", header]);
  },
  "the first program in C of docs/embed/c.md, with the static and with the shared library"() {
    const program = documented("c", "c");
    ok(program.split("int main(void) {\n")[1].split("\n}")[0].split("\n").length <= 10);
    writeFileSync(join(WORK, "first.c"), program);
    for (const library of [join(OUT, "libreprise.a"), join(OUT, "libreprise.so")]) match(run(compiled("first", ["first.c", library]), []), /^(\d+\n){4}$/);
  },
  "the digest of the recorded operations is that of TypeScript"() {
    // Compiles the library with a memory that moves when it grows, as on systems that cannot reserve address space.
    const moves = compiled("player-moves", [join(root, "embed/c/player.c"), join(OUT, "reprise.c")], ["-O1", "-DREPRISE_MOVES"]);
    for (const [name, digest] of [
      ["operations", EMBED],
      ["packed", readFileSync(join(root, "test/embed/packed-digest.txt"), "utf8").trim()],
    ]) {
      const file = join(root, `dist/embed/${name}.bin`);
      equal(run(join(OUT, "player"), [file]).trim(), digest);
      equal(run(moves, [file]).trim(), digest);
      equal(luajit("embed/lua/player.lua", OUT, file).trim(), digest);
    }
  },
  "mutated calls are done, or refused with a text, and read and write nothing else: under AddressSanitizer and UndefinedBehaviorSanitizer"() {
    const fuzz = compiled("fuzz", [join(HERE, "fuzz.c")], SANITIZED);
    const env = { ...process.env, ASAN_OPTIONS: "max_allocation_size_mb=256:allocator_may_return_null=1" };
    for (let seed = 1; seed <= SEEDS; seed++) {
      const said = run(fuzz, [String(seed), String(CALLS)], { env });
      const [, done, refused] = said.match(/^\d+ calls: (\d+) done, (\d+) refused/m).map(Number);
      ok(done >= CALLS / 4 && refused >= CALLS / 8, said);
      // Every call must have succeeded at least once, except the calls that are always invalid.
      for (const [, name, some] of said.matchAll(/^([\w ]+): (\d+) done/gm)) ok(Number(some) > 0 || name === "copy of a step", said);
    }
  },
  "several Replays in several threads, under ThreadSanitizer"() {
    run(compiled("threads", [join(HERE, "threads.c"), join(OUT, "reprise.c")], ["-O1", "-g", "-fsanitize=thread", "-pthread"]), []);
  },
  "a Replay that was freed keeps nothing, and a late call on it is refused"() {
    run(compiled("leaks", [join(HERE, "leaks.c"), join(OUT, "libreprise.a")]), []);
  },
  "a fault of the core's and a lack of address space are texts, and a host's handlers of signals stay"() {
    run(compiled("faults", [join(HERE, "faults.c")], ["-O0"]), []);
  },
  "a build says what is missing"() {
    const { status, stderr } = spawnSync(process.execPath, ["build/run.mjs", "build:c"], { cwd: root, encoding: "utf8", env: { PATH: "/nowhere" } });
    equal(status, 1);
    match(stderr, /wasm2c must be on the PATH: install Debian's package wabt/);
  },
  "the first program in Lua of docs/embed/lua.md"() {
    const program = documented("lua", "lua");
    ok(program.split("\n").length <= 10);
    writeFileSync(join(WORK, "first.lua"), program);
    match(run("luajit", [join(WORK, "first.lua")], { cwd: root }), /^(\d+\n){4}$/);
  },
  "the program in C# of docs/embed/csharp.md, in Mono"() {
    writeFileSync(join(WORK, "first.cs"), documented("csharp", "csharp"));
    run("mcs", ["first.cs"]);
    match(run("mono", ["first.exe"], { env: { ...process.env, LD_LIBRARY_PATH: OUT } }), /^(\d+\n){4}$/);
  },
  "the program in Rust of docs/embed/rust.md"() {
    writeFileSync(join(WORK, "first.rs"), documented("rust", "rust"));
    run("rustc", ["first.rs", "-L", OUT]);
    match(run(join(WORK, "first"), []), /^(\d+\n){4}$/);
  },
  "values of all types by the wrapper for Lua"() {
    match(luajit("test/embed/lua/wrapper.lua", join(root, "embed/lua"), OUT), /all as it should be/);
  },
  "the paddle in LÖVE learns"() {
    equal(learned(run("love", PADDLE, { cwd: root })), "learned");
  },
});
