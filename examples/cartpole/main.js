/** `npm start`: learns until greedy episodes reach the target (exit 0), the steps run out (exit 1) or Ctrl-C is pressed (exit 130). */
import { program } from "commander";
import { live } from "../live.js";
import { Run } from "../run.js";
import { Agent } from "./agent.js";
import { picture } from "./display.js";
import { memory } from "./experience.js";

program.name("npm start --").description("An agent learns to balance a pole, from prioritized n-step replay; with --web, in a page.");
program.option("--seed <number>", "seed of all random numbers", Number, 1);
program.option("--env-steps <number>", "maximum number of environment steps", Number, 50_000);
program.option("--target <return>", "mean return of 100 greedy episodes at which to stop, at most 500", Number, 475);
program.option("--dir <path>", "folder to save the run in; a new start continues from there");
program.option("--json", "print only one JSON object, at the end");
const { seed, envSteps, target, dir, json } = program.parse().opts();
if (![seed, envSteps, target].every((n) => Number.isSafeInteger(n) && n >= 0)) program.error("--seed, --env-steps and --target take whole numbers");

const run = await Run.open(dir, { ...memory, seed }).catch(({ message }) => program.error(`--dir ${dir}: ${message}`));
const agent = new Agent(seed, run.client);
if (run.resume(agent, Agent.kept) && !json) console.log(`Continued at step ${agent.steps} from ${dir}`);
const figures = () => {
  const { curve, replayMs, steps } = agent;
  const times = { learningSeconds: run.seconds, setUpSeconds: run.setUpSeconds, replayShare: replayMs / 1000 / run.seconds };
  return { seed, meanReturn: curve.at(-1), envSteps: steps, ...times, bytes: run.replay.stats().bytes.used, curve };
};
const judge = () => (run.interrupted ? "Stopped" : agent.curve.at(-1) >= target ? "Solved" : agent.steps < envSteps ? "Learning" : "Not solved");
const show = () => live(() => picture(figures(), agent, outcome), outcome !== "Learning");

let outcome = judge();
for (; outcome === "Learning"; outcome = judge()) {
  agent.step();
  await run.tick();
  if (!json) show();
}
await run.keep();
if (json) console.log(JSON.stringify(figures()));
else show();
process.exitCode = { Solved: 0, "Not solved": 1, Stopped: 130 }[outcome];
