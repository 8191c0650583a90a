// Checks what a new user tries first. `npm start` must learn within the time limit from any seed, and restore the terminal when it is interrupted. `serve-page`
// of a clone must run without an installation.
import { equal, match, ok } from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { checks } from "./checks.mjs";

const root = join(import.meta.dirname, "..");
const SEEDS = [1, 2, 3];

function learns(seed) {
  const { status, stdout, stderr } = spawnSync("npm", ["start", "--silent", "--", "--json", "--seed", String(seed)], { cwd: root, encoding: "utf8" });
  equal(status, 0, stderr);
  const { meanReturn, envSteps, learningSeconds, replayShare } = JSON.parse(stdout);
  ok(meanReturn >= 475, `mean return ${meanReturn}`);
  ok(learningSeconds <= 90, `${learningSeconds} s`);
  ok(replayShare < 0.05, `replay took ${replayShare} of the time`);
  const share = `${(100 * replayShare).toFixed(1)} %`;
  console.log(`seed ${seed}: mean return ${meanReturn} after ${envSteps} steps, ${learningSeconds.toFixed(1)} s, replay ${share}`);
}

/** Starts a server, waits until it prints an address, fetches the address, and stops the server. @returns the response */
async function served(command, args) {
  const server = spawn(command, args, { cwd: root, stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(server, "close");
  try {
    let said = "";
    while (!/http:\S+/.test(said)) said += await Promise.race([once(server.stdout, "data"), ended.then(() => Promise.reject(new Error(`ended: ${said}`)))]);
    return await (await fetch(/http:\S+/.exec(said)[0])).text();
  } finally {
    server.kill("SIGINT");
    await ended;
  }
}

await checks({
  ...Object.fromEntries(SEEDS.map((seed) => [`npm start learns from seed ${seed}`, () => learns(seed)])),
  async "npm start -- --web serves the page, and so does serve-page of the clone"() {
    match(await served(process.execPath, ["build/run.mjs", "start", "--web"]), /<title>Reprise/);
    match(await served(process.execPath, ["dist/cli.js", "serve-page", "test/data/tfds/cartpole"]), /<title>Reprise/);
  },
  "interrupted on a terminal, it shows the cursor again and says where it was"() {
    // `script` provides a terminal, and `timeout` sends the signal of Ctrl-C.
    const command = `stty cols 100 rows 40; timeout --foreground -s INT 5 ${process.execPath} examples/cartpole/main.js --target 501`;
    const { status, stdout } = spawnSync("script", ["-qec", command, "/dev/null"], { cwd: root, encoding: "utf8" });
    // `timeout` exits with 124 if it ended the command.
    equal(status, 124);
    match(stdout, /Learning: seed 1, step \d+/);
    match(stdout.slice(stdout.lastIndexOf("Stopped")), /^Stopped: seed 1, step \d+.* s \(set-up .* s\)/);
    ok(stdout.lastIndexOf("\u001b[?25h") > stdout.lastIndexOf("\u001b[?25l"), "the cursor is hidden");
  },
});
