// Runs embed.wasm in Python, using wasmtime.
import { join } from "node:path";
import { root } from "../../../build/step.mjs";
import { made, PLAYER, PROGRAM, WASMTIME } from "../../../embed/python/tests/python.mjs";
import { EMBED } from "../embed.mjs";
import { run } from "../workshop.mjs";

export async function rows() {
  return [
    {
      where: "Python, by wasmtime",
      version: WASMTIME,
      what: "the digest of embed.wasm",
      expected: [EMBED],
      async run() {
        const missing = made();
        if (missing !== undefined) throw new Error(missing);
        return (await run(root, PROGRAM, [PLAYER, join(root, "dist/embed/operations.bin")])).trim().split("\n");
      },
    },
    {
      where: "Python, by wasmtime",
      version: WASMTIME,
      what: "remote writers from and to Node.js",
      expected: ["all arrive"],
      async run() {
        const missing = made();
        if (missing !== undefined) throw new Error(missing);
        const env = { PYTHONDONTWRITEBYTECODE: "1", REPRISE_NODE: process.execPath };
        await run(join(root, "embed/python"), PROGRAM, ["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_actors.py"], { env });
        return ["all arrive"];
      },
    },
  ];
}
