/** `npm run example:reverb`: actors in Node and a learner in Python share a Reverb server, until 20 episodes reach the target (exit 0), the time is up (1) or Ctrl-C (130). */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { program } from "commander";
import { bars, live } from "../live.js";

program.name("npm run example:reverb --").description("Actors in Node and a learner in Python balance a pole together, over a Reverb server.");
program.option("--actors <number>", "number of actors, each a process", Number, 2);
program.option("--target <return>", "mean return of 20 episodes at which to stop, at most 500", Number, 195);
program.option("--seconds <number>", "time after which to give up", Number, 600);
program.option("--python <path>", "a Python with the packages of requirements.txt", process.env.REPRISE_REVERB_PYTHON ?? "python3");
const { actors, target, seconds, python } = program.parse().opts();
if (![actors, target, seconds].every((n) => Number.isSafeInteger(n) && n > 0)) program.error("--actors, --target and --seconds take whole numbers above 0");

const start = performance.now(); // of this program: what set it up does not count
const stop = new AbortController();
const stopped = once(stop.signal, "abort");
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => stop.abort("Stopped"));
const timer = setTimeout(() => stop.abort("Not solved"), 1000 * seconds);

const REMEDY = "--python names a Python with the packages of examples/reverb/requirements.txt";
const env = { TF_CPP_MIN_LOG_LEVEL: "3", ...process.env };
const children = [];

/** Starts a program, and reads its lines. The program ends when its input ends, and so with this process, however that ends. Only this process receives Ctrl-C of the terminal. */
function launch(command, name, ...args) {
  const file = fileURLToPath(new URL(name, import.meta.url));
  const child = spawn(command, [file, ...args], { env, detached: true });
  let said = "";
  child.stderr.on("data", (bytes) => {
    said = (said + bytes).slice(-2000);
  });
  child.on("error", ({ message }) => fail(`${message}: ${REMEDY}`));
  child.on("close", (status, signal) => fail(`${name} has ended (${status ?? signal}):\n${said}${/ModuleNotFoundError/.test(said) ? REMEDY : ""}`));
  children.push(child);
  return createInterface({ input: child.stdout });
}

function fail(message) {
  if (!stop.signal.aborted) console.error(message);
  stop.abort("Failed");
}

async function end(child) {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  child.stdin.end();
  const impatience = setTimeout(() => child.kill("SIGKILL"), 10_000);
  await once(child, "exit");
  clearTimeout(impatience);
}

const returns = [];
let [steps, updates, address] = [0, 0, "…"];
const mean = () => returns.slice(-20).reduce((sum, value) => sum + value, 0) / Math.max(1, Math.min(20, returns.length));
const picture = () => [
  `CartPole-v1   ${stop.signal.reason ?? "Learning"}: Reverb server at ${address}, ${Math.round((performance.now() - start) / 1000)} s`,
  `  return      ${bars(returns.slice(-50), 500)} ${mean().toFixed(1)}, mean of 20 episodes`,
  `  actors      ${actors}, ${returns.length} episodes of ${steps} steps`,
  `  learner     ${updates} updates, by the newest weights that an actor has`,
];

function told(line) {
  const episode = JSON.parse(line);
  returns.push(episode.return);
  steps += episode.return;
  updates = Math.max(updates, episode.updates);
  if (returns.length >= 20 && mean() >= target) stop.abort("Solved");
  if (!stop.signal.aborted) live(picture);
}

console.log("Starts a Reverb server and TensorFlow, which takes some seconds …");
const listening = once(launch(python, "server.py"), "line").then(([port]) => {
  address = `127.0.0.1:${port}`;
});
await Promise.race([listening, stopped]);
if (!stop.signal.aborted) {
  launch(python, "learner.py", address);
  for (let i = 1; i <= actors; i++) launch(process.execPath, "actor.js", address, i).on("line", told);
  await stopped;
}
clearTimeout(timer);
await Promise.all(children.map(end));
live(picture, true);
process.exitCode = { Solved: 0, Stopped: 130 }[stop.signal.reason] ?? 1;
