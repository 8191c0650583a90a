// Vector environments: three in lock-step, a lane each, in the three autoreset modes of Gymnasium. All give the same
// values. The environment: a walk to the right, worth 1 a step, which ends beyond place 6 or is cut off after 5 steps.
// Run: node docs/recipes/vector.js [calls of step]
import { f32, i32, Replay } from "reprise";

const CALLS = Number(process.argv[2] ?? 300);
const [LANES, END, TIME_LIMIT, GAMMA] = [3, 7, 5, 0.5];

/** Behaves as Gymnasium's vector environments do, in one of their autoreset modes. */
class VectorEnv {
  lanes = Array.from({ length: LANES }, (_, begun) => ({ place: 0, time: 0, begun, done: false }));

  constructor(autoreset = "nextStep") {
    this.autoreset = autoreset;
  }

  /** Resets the lanes of the mask, each time to another place. */
  reset(mask = [true, true, true]) {
    const chosen = this.lanes.filter((_, lane) => mask[lane]);
    for (const lane of chosen) Object.assign(lane, { place: (2 * lane.begun++) % END, time: 0, done: false });
    return this.lanes.map(({ place }) => place);
  }

  step(action = [1, 1, 1]) {
    const late = this.lanes.map(({ done }) => done && this.autoreset === "nextStep"); // this call only resets them
    this.reset(late);
    for (const [i, lane] of this.lanes.entries())
      if (!late[i]) Object.assign(lane, { place: lane.place + action[i], time: lane.time + 1 });
    const reward = late.map((only) => (only ? 0 : 1));
    const terminated = this.lanes.map(({ place }) => place >= END);
    const truncated = this.lanes.map(({ time }) => time === TIME_LIMIT); // both flags, if both happen in one step
    const done = terminated.map((end, i) => end || truncated[i]);
    for (const [i, lane] of this.lanes.entries()) lane.done = done[i];
    const seen = this.lanes.map(({ place }) => place);
    if (this.autoreset !== "sameStep") return { observation: seen, reward, terminated, truncated, done, finalObs: [] };
    return { observation: this.reset(done), reward, terminated, truncated, done, finalObs: seen };
  }
}

/** Acts, learns the value of each place from all transitions, and prints it. */
function run(autoreset = /** @type {"nextStep" | "sameStep" | "disabled"} */ ("nextStep")) {
  const spec = { observation: i32(), action: i32(), reward: f32() };
  const replay = new Replay({ spec, tables: { memory: { maxSize: 10_000 } } });
  const { memory } = replay.tables;
  const writer = replay.writer({ lanes: LANES, autoreset, items: [{ table: "memory", nStep: 2 }] });
  const envs = new VectorEnv(autoreset);
  let observation = envs.reset();
  for (let call = 0; call < CALLS; call++) {
    const action = observation.map(() => 1); // your policy
    const { reward, terminated, truncated, done, ...next } = envs.step(action);
    const step = { observation, action, reward };
    // The final observation is in the next step, next to the step, or the result of the step before you reset.
    if (autoreset === "nextStep") writer.append(step, { terminated, truncated });
    else if (autoreset === "sameStep")
      writer.append(step, { terminated, truncated, final: { observation: next.finalObs } });
    else writer.append(step, { terminated, truncated, final: { observation: next.observation } });
    observation = autoreset === "disabled" && done.includes(true) ? envs.reset(done) : next.observation;
  }

  const values = new Float64Array(END + 1);
  const all = memory.transitions({ gamma: GAMMA }).sample(memory.size, { replacement: false });
  for (let sweep = 0; sweep < 50; sweep++) {
    for (let i = 0; i < all.count; i++)
      values[all.observation.data[i]] =
        all.returns.data[i] + all.discounts.data[i] * values[all.nextObservation.data[i]];
  }
  const ends = all.terminated.data.reduce((sum, one) => sum + one, 0);
  const shown = [...values.subarray(0, END)].map((value) => value.toFixed(2)).join(" ");
  console.log(`${autoreset}: ${memory.size} transitions, ${ends} reach a terminal step, values ${shown}`);
}

for (const autoreset of /** @type {const} */ (["nextStep", "sameStep", "disabled"])) run(autoreset);
