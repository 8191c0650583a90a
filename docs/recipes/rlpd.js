// RLPD with a recorded warm start (Ball et al., 2023): half of each batch comes from recorded episodes, half from the
// agent's own, as long as it learns. The task is a lock: one of four actions leads on, the others back to the start,
// and only the end has a reward. By chance no agent gets there. In place of networks: a table of values.
// Run: node docs/recipes/rlpd.js [live episodes]
import { f32, i32, mixture, Replay } from "reprise";
import { pushEpisodes } from "reprise/rlds";

const EPISODES = Number(process.argv[2] ?? 200);
const [PLACES, ACTIONS, TIME_LIMIT, RECORDED, WARM_UPDATES] = [12, 4, 40, 10, 20];
const [GAMMA, BATCH, UPDATES_PER_STEP, RATE, EXPLORE] = [0.95, 64, 4, 0.2, 0.05];

let state = 1;
const random = () => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return state / 2 ** 32;
};
const pick = (n = ACTIONS) => Math.floor(random() * n);

/** The environment: which action leads on from each place. */
const lock = Array.from({ length: PLACES }, () => pick());
function act(place = 0, action = 0) {
  const next = action === lock[place] ? place + 1 : 0;
  return { next, reward: next === PLACES ? 1 : 0, terminated: next === PLACES };
}

/** The actions of a player who knows the lock, except each tenth one. In place of this: await openRlds("a folder"). */
const recorded = Array.from({ length: RECORDED }, () => {
  const steps = [];
  for (let t = 0, place = 0, is_last = false; !is_last; t++) {
    const is_terminal = place === PLACES;
    is_last = is_terminal || t === TIME_LIMIT;
    const action = is_terminal || random() < 0.1 ? pick() : lock[place];
    const { next, reward } = is_last ? { next: place, reward: 0 } : act(place, action);
    steps.push({ observation: place, action, reward, discount: 1, is_first: t === 0, is_last, is_terminal });
    place = next;
  }
  return { steps };
});

// The same spec twice: recorded steps have a separate Replay, so live steps never evict them.
const replayOf = (maxSize = 0, seed = 0) =>
  new Replay({ spec: { observation: i32(), action: i32(), reward: f32() }, tables: { memory: { maxSize } }, seed });
const [demos, online] = [replayOf(10_000, 1), replayOf(10_000, 2)];
const [demoWriter, writer] = [demos, online].map((of) => of.writer({ items: [{ table: "memory", nStep: 1 }] }));
const viewOf = (of = demos) => of.tables.memory.transitions({ gamma: GAMMA });
const sources = [demos, online].map((of) => ({ from: viewOf(of), share: 0.5 }));
const mix = mixture(sources, { fallback: "others" }); // until the agent has made a step, all rows are recorded
const into = mix.batch(BATCH); // each draw refills it
const recordedRows = () => `${into.source.data.filter((of) => of === 0).length} of ${BATCH} rows are recorded`;

const values = Array.from({ length: PLACES + 1 }, () => new Float64Array(ACTIONS));
const greedy = (of = values[0]) => of.indexOf(Math.max(...of));
function learn() {
  const { observation, action, returns, discounts, nextObservation } = mix.sample(BATCH, { into });
  for (let i = 0; i < BATCH; i++) {
    const [of, a] = [values[observation.data[i]], action.data[i]];
    const target = returns.data[i] + discounts.data[i] * Math.max(...values[nextObservation.data[i]]);
    of[a] += RATE * (target - of[a]);
  }
}

await pushEpisodes(recorded, demoWriter);
for (let n = 0; n < WARM_UPDATES; n++) learn();
console.log(`warm start: ${demos.tables.memory.size} recorded transitions; ${recordedRows()}`);

let opened = 0;
for (let episode = 0; episode < EPISODES; episode++) {
  let [place, terminated] = [0, false];
  for (let t = 0; t < TIME_LIMIT && !terminated; t++) {
    const action = random() < EXPLORE ? pick() : greedy(values[place]);
    const { next, reward, terminated: ends } = act(place, action);
    writer.append({ observation: place, action, reward });
    [place, terminated] = [next, ends];
    for (let n = 0; n < UPDATES_PER_STEP; n++) learn();
  }
  writer.endEpisode({ final: { observation: place }, terminated });
  if (episode >= EPISODES / 2 && terminated) opened++;
}
console.log(`live: ${recordedRows()}; opened in the last half: ${((200 * opened) / EPISODES).toFixed(0)} %`);
