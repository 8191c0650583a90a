// Runs the examples in game engines: the agent learns while the game runs.
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../../build/step.mjs";
import { run } from "../workshop.mjs";

const NAMES = ["babylon.js", "catch.js", "phaser.html", "phaser.js"];
const FRAMES = 1000;

/** The fraction of the last balls that must be caught. A paddle that moves at random catches a quarter. */
const LEARNED = 0.6;

const learned = (caught, balls) => (caught / balls >= LEARNED ? "learned" : `caught ${caught} of ${balls}`);

export async function rows(workshop, browsers) {
  const files = Object.fromEntries(NAMES.map((name) => [name, readFileSync(join(root, "examples/engines", name), "utf8")]));
  return [
    {
      where: "Babylon.js, without a screen, in Node.js",
      what: "the example learns",
      version: workshop.version("@babylonjs/core"),
      expected: [`${FRAMES} frames`, "learned"],
      async run() {
        const said = await run(workshop.project("babylon", { files }), process.execPath, ["babylon.js", String(FRAMES)]);
        const [, frames, balls, late] = said.match(/^(\d+ frames).* last (\d+) balls (\d+)/m);
        return [frames, learned(late, balls)];
      },
    },
    {
      where: "Phaser, in Chromium",
      what: "the example learns",
      version: workshop.version("phaser"),
      expected: ["learned"],
      async run() {
        const folder = workshop.project("phaser", { files });
        cpSync(workshop.tool("phaser/dist/phaser.esm.js"), join(folder, "node_modules/phaser/dist/phaser.esm.js"));
        writeFileSync(join(folder, "index.html"), files["phaser.html"].replace("../../dist/", "./node_modules/reprise/dist/"));
        // A busy machine may read the counters late, so only the balls since the first reading count.
        const early = Math.floor(FRAMES / 13 / 2);
        const balls = "game.caught + game.missed";
        const begun = `globalThis.game && ${balls} >= ${early} && (globalThis.before ??= { caught: game.caught, balls: ${balls} })`;
        const ready = `${begun} && ${balls} >= before.balls + ${early}`;
        const [caught, since] = await browsers.lines("chromium", folder, { ready, result: `[game.caught - before.caught, ${balls} - before.balls]` });
        return [learned(caught, since)];
      },
    },
  ];
}
