// Runs one script per verb, each with its own setup: `node build/run.mjs VERB [arguments]`. It needs only Node, and skips steps that are up to date.
import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { PAGE, PAGE_PACKAGE, page, servePage } from "./page.mjs";
import { installRuntimes } from "./runtimes.mjs";
import { bundle, core, declarations, dependencies, operations, programs, root } from "./steps.mjs";
import { test, wordsOf } from "./test.mjs";
import { buildEverything, buildFor } from "./test-needs.mjs";

const [verb, ...args] = process.argv.slice(2);
const verbs = {
  async start() {
    await core();
    await bundle();
    if (args.includes("--web")) return servePage(8124);
    await example("cartpole");
  },
  async "example:reverb"() {
    await core();
    await bundle();
    const { python } = await import("./interop.mjs");
    const { program, missing } = args.includes("--python") ? {} : python();
    if (missing !== undefined) throw new Error(`examples/reverb cannot run: ${missing}`);
    if (program !== undefined) process.env.REPRISE_REVERB_PYTHON = program;
    await example("reverb");
  },
  async "example:python"() {
    await core(["release", "embed"]);
    await bundle();
    // The example stops the processes that it started, even if it is interrupted, so this program waits for it.
    const example = spawn(process.execPath, ["embed/python/examples/run.mjs", ...args], { stdio: "inherit", cwd: root });
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => example.kill(signal));
    process.exitCode = await new Promise((resolve) => example.once("exit", (code) => resolve(code ?? 1)));
  },
  build: buildEverything,
  async "build:c"() {
    await core(["embedScalar"]);
    const { buildC } = await import("../embed/c/build.mjs");
    await buildC();
  },
  async "test:c"() {
    await core(["release", "embed"]);
    await bundle();
    await operations();
    await madeC();
    run("test/embed/c/run.mjs", args);
  },
  test: () => tested("quick"),
  "test:all": () => tested("all"),
  async "test:kernel"() {
    const { kernelTests } = await import("./kernel-tests.mjs");
    const { passed, failed } = await kernelTests(args);
    console.log(`${passed} passed, ${failed} failed`);
    process.exitCode = failed === 0 ? 0 : 1;
  },
  async "test:python"() {
    await core(["release", "embed"]);
    await bundle();
    await operations();
    run("embed/python/tests/run.mjs", args);
  },
  async interop() {
    const { interop } = await import("./interop.mjs");
    process.exitCode = await interop(args);
  },
  async runtimes() {
    await installRuntimes();
    await verbs.build();
    process.env.REPRISE_RUNTIMES = "all";
    process.exitCode = await test(["runtime", ...args], "all");
  },
  async everywhere() {
    await installRuntimes();
    await verbs.build();
    await madeC();
    run("test/everywhere/run.mjs", args);
  },
  async docs() {
    await core();
    await bundle();
    // TypeDoc also reads the tests (tsconfig.json), which import the package by name.
    await declarations();
    const { docs } = await import("./docs.mjs");
    await docs();
  },
  async release() {
    const { release } = await import("./release.mjs");
    const { tools } = await import("./docs.mjs");
    await installRuntimes();
    await tools();
    await verbs.build();
    release(args);
  },
  async soak() {
    await core(["release", "scalar", "embed"]);
    await bundle();
    await operations();
    await programs();
    run("dist/soak.mjs", args);
  },
  async "soak:port"() {
    await core();
    await bundle();
    run("test/soak/port.mjs", args);
  },
  async "soak:sockets"() {
    await core();
    await bundle();
    run("test/soak/sockets.mjs", args);
  },
  async "soak:rows"() {
    await core();
    await bundle();
    run("test/soak/rows.mjs", args);
  },
  async "soak:edit"() {
    await core();
    await bundle();
    run("test/soak/edit.mjs", args);
  },
  async crash() {
    await core();
    await bundle();
    run("test/soak/crash.mjs", args);
  },
  async "test:page"() {
    await installRuntimes();
    await core();
    await bundle();
    await page();
    process.env.REPRISE_PAGE = "all";
    const at = args.indexOf("--minutes");
    if (at >= 0) [, process.env.REPRISE_PAGE_MINUTES] = args.splice(at, 2);
    process.exitCode = await test(args.length === 0 ? ["test/page/"] : args.map((word) => `test/page/${word}`), "all");
  },
  async "crash:page"() {
    await installRuntimes();
    await core();
    await bundle();
    await page();
    run("test/page/crash.mjs", args);
  },
  async "build:page"() {
    await core();
    await bundle();
    await page();
    console.log(`${PAGE} is the page: put the folder anywhere that files are served from. npm pack ./${PAGE_PACKAGE} packs it`);
  },
  async "page:picture"() {
    await verbs["build:page"]();
    run("test/page/picture.mjs", args);
    run("test/page/loop.mjs", args);
  },
  async pictures() {
    const { pictures } = await import("./pictures.mjs");
    pictures();
  },
  async "crash:record"() {
    await core();
    await bundle();
    run("test/soak/crash-record.mjs", args);
  },
  async "crash:edit"() {
    await core();
    await bundle();
    run("test/soak/crash-edit.mjs", args);
  },
  async "soak:record"() {
    await core();
    await bundle();
    run("test/soak/soak-record.mjs", args);
  },
  async "soak:writers"() {
    await core();
    await bundle();
    run("test/soak/writers.mjs", args);
  },
  async pages() {
    await core();
    await bundle();
    const { pages } = await import("./pages.mjs");
    const { address } = await pages(8123);
    console.log(`${address}/examples/page.html, loop.html and engines/phaser.html in the same folder, until Ctrl-C`);
  },
  async check() {
    await core();
    await bundle();
    // Tests import the package by name.
    await declarations();
    run("node_modules/typescript/bin/tsc", ["-p", "tsconfig.json"]);
    run("node_modules/typescript/bin/tsc", ["-p", "page/tsconfig.json"]);
    run("node_modules/@biomejs/biome/bin/biome", ["check", ...(args.includes("--write") ? ["--write"] : []), "."]);
    run("build/direction.mjs", []);
    run("build/english.mjs", []);
  },
  messages() {
    run("build/messages.mjs", ["--write"]);
  },
  async bench() {
    await core(["release", "kernels"]);
    await bundle();
    run("bench/run.mjs", args, ["--expose-gc"]);
  },
  async "bench:peers"() {
    await core();
    await bundle();
    run("bench/peers/run.mjs", args);
  },
  async "bench:reverb"() {
    await core();
    await bundle();
    run("bench/reverb/run.mjs", args);
  },
  async "bench:packed"() {
    await core();
    await bundle();
    run("bench/packed/run.mjs", args);
  },
  async "bench:frames"() {
    await core();
    await bundle();
    run("bench/frames/run.mjs", args);
  },
  async "bench:look"() {
    await installRuntimes();
    await core();
    await bundle();
    await page();
    run("bench/look/run.mjs", args);
  },
  async "bench:inspector"() {
    await installRuntimes();
    await core();
    await bundle();
    run("bench/inspector/run.mjs", args);
  },
  async "bench:embed"() {
    await installRuntimes();
    await core(["release", "embed", "embedScalar"]);
    await operations();
    run("bench/embed/run.mjs", args);
  },
  async conformance() {
    await core(["release", "scalar", "embed"]);
    await operations();
    await programs();
    run("dist/conformance.mjs", args);
  },
};

/** Runs an example in this process, because the example also reports the time of this setup, and handles Ctrl-C itself. */
async function example(folder) {
  process.argv.splice(1, 2, join(root, "examples", folder, "main.js"));
  await import(pathToFileURL(process.argv[1]));
}

/** Builds the targets that the tests need, and runs them. */
async function tested(size) {
  const words = wordsOf(args);
  const builds = words.length === 0 ? await buildEverything() : await buildFor(words);
  process.exitCode = await test(args, size);
  if (process.exitCode !== 0 && builds !== undefined) console.log(`Built for these files: ${builds.join(", ")}. "npm run build" builds everything.`);
}

/** Installs the missing programs that the tests of the library for C need, and builds the library. */
async function madeC() {
  const { installC } = await import("../embed/c/tools.mjs");
  installC();
  await verbs["build:c"]();
}

/** Runs a script with this Node. If it fails, so does this process. */
function run(script, scriptArgs, nodeArgs = []) {
  const { status } = spawnSync(process.execPath, [...nodeArgs, script, ...scriptArgs], { stdio: "inherit", cwd: root });
  if (status !== 0) process.exit(status ?? 1);
}

if (!(verb in verbs)) {
  console.error(`usage: node build/run.mjs ${Object.keys(verbs).join(" | ")}`);
  process.exit(2);
}
if (!existsSync("package.json")) process.chdir(root);
await dependencies();
await verbs[verb]();
