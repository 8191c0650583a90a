// Runs the C library of this checkout (npm run build:c), and the libraries on top of it.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { root } from "../../../build/step.mjs";
import { OUT } from "../../../embed/c/build.mjs";
import { CC } from "../../../embed/c/tools.mjs";
import { learned, PADDLE } from "../../embed/lua/paddle.mjs";
import { EMBED } from "../embed.mjs";
import { run } from "../workshop.mjs";

const DIGEST = "the digest of embed.wasm";
const OPERATIONS = join(root, "dist/embed/operations.bin");

/** Returns the version that a program reports. */
function versionOf(command, flag) {
  return /\d+(\.\d+)+(-\w+)?/.exec(spawnSync(command, [flag], { encoding: "utf8" }).stdout ?? "")?.[0] ?? "missing";
}

async function player(command, ...args) {
  return (await run(root, command, [...args, OPERATIONS])).trim().split("\n");
}

export async function rows() {
  return [
    {
      where: "C, by wasm2c and gcc",
      version: `${versionOf("wasm2c", "--version")}, ${versionOf(CC, "-dumpfullversion")}`,
      found: true,
      what: DIGEST,
      expected: [EMBED],
      run: () => player(join(OUT, "player")),
    },
    {
      where: "Lua (LuaJIT)",
      version: versionOf("luajit", "-v"),
      found: true,
      what: DIGEST,
      expected: [EMBED],
      run: () => player("luajit", "embed/lua/player.lua", OUT),
    },
    {
      where: "LÖVE, without a screen",
      version: versionOf("love", "--version"),
      found: true,
      what: "the example learns",
      expected: ["learned"],
      run: async () => [learned(await run(root, "love", PADDLE))],
    },
  ];
}
