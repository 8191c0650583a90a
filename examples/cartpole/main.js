/** `npm start`: learns until greedy episodes reach the target (exit 0), the steps run out (exit 1) or Ctrl-C is pressed (exit 130). */
import { setImmediate as turn } from "node:timers/promises";
import { program } from "commander";
import { Agent } from "./agent.js";
import { show } from "./display.js";

program.name("npm start --").description("An agent learns to balance a pole, from prioritized n-step replay.");
program.option("--seed <number>", "what everything random depends on", Number, 1);
program.option("--env-steps <number>", "steps of the environment at most", Number, 50_000);
program.option("--target <return>", "mean of 20 greedy episodes, 500 at most, at which it ends", Number, 195);
program.option("--json", "print one JSON object at the end, and nothing before");
const { seed, envSteps, target, json } = program.parse().opts();
if (![seed, envSteps, target].every((n) => Number.isSafeInteger(n) && n >= 0)) program.error("--seed, --env-steps and --target take whole numbers");

const agent = new Agent(seed);
const interrupt = new AbortController();
process.on("SIGINT", () => interrupt.abort());
const setUpSeconds = performance.now() / 1000;
const figures = () => {
  const learningSeconds = performance.now() / 1000 - setUpSeconds;
  const { curve, experience, replayMs, steps } = agent;
  const times = { learningSeconds, setUpSeconds, replayShare: replayMs / 1000 / learningSeconds };
  return { seed, meanReturn: curve.at(-1), envSteps: steps, ...times, bytes: experience.replay.stats().bytes.used, curve };
};

let outcome = "Learning";
while (outcome === "Learning") {
  agent.step();
  if (agent.steps % 16 === 0) await turn(); // for Ctrl-C
  const solved = agent.curve.at(-1) >= target;
  outcome = interrupt.signal.aborted ? "Stopped" : solved ? "Solved" : agent.steps < envSteps ? "Learning" : "Not solved";
  if (!json) show(figures, agent, outcome);
}
if (json) console.log(JSON.stringify(figures()));
process.exitCode = { Solved: 0, "Not solved": 1, Stopped: 130 }[outcome];
