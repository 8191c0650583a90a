/** Compares a structured writer with a trajectory writer that does the same work with explicit calls. */
import { fullTable } from "../filled.mjs";
import { entry } from "../package.mjs";
import { SOURCE_STEPS, STEPS, source, spec } from "../source.mjs";

const { Condition, createConfig, LocalClient, patternFromTransform } = await entry("agents");
const MASK = SOURCE_STEPS - 1;
const UNIT = "ns/step";
/** An action that does not occur in the source. */
const NO_ACTION = -1;

function client() {
  return new LocalClient(fullTable(STEPS).replay);
}

const made = (pattern, conditions = []) =>
  createConfig(
    patternFromTransform(spec, (step) => pattern(step)),
    "t",
    { conditions },
  );

const PATTERNS = [
  ({ observation, action, reward }) => ({ states: observation.slice(-2), action: action.at(-2), reward: reward.at(-1) }),
  ({ observation, action }) => ({ states: observation.slice(-4), actions: action.slice(-4, -1) }),
  ({ observation, reward }) => ({ states: observation.slice(-5, null, 2), reward: reward.slice(-5) }),
];

/** Returns a side that creates items with a structured writer. */
function structured(configs) {
  const { steps } = source();
  const writer = client().structuredWriter(configs());
  for (let k = 0; k < 8; k++) writer.append(steps[k]);
  return (n) => {
    for (let k = 0; k < n; k++) writer.append(steps[k & MASK]);
    return n;
  };
}

/** Returns a rival that creates the same items with explicit calls to a trajectory writer. */
function byHand(patterns) {
  const { steps } = source();
  const writer = client().trajectoryWriter({ numKeepAliveRefs: 8 });
  for (let k = 0; k < 8; k++) writer.append(steps[k]);
  const { history } = writer;
  return (n) => {
    for (let k = 0; k < n; k++) {
      writer.append(steps[k & MASK]);
      for (let i = 0; i < patterns; i++) writer.createItem("t", 1, PATTERNS[i](history));
    }
    return n;
  };
}

const beside = (patterns, limit) => ({
  name: `structured append, ${patterns === 1 ? "one pattern applies" : `${patterns} patterns apply`}`,
  unit: UNIT,
  rivalName: patterns === 1 ? "append + createItem" : `append + ${patterns} createItem`,
  limit,
  ours: () => structured(() => PATTERNS.slice(0, patterns).map((pattern) => made(pattern))),
  rival: () => byHand(patterns),
});

export const cases = [
  {
    name: "structured append, nothing applies",
    unit: UNIT,
    rivalName: "trajectory writer's append",
    limit: 0.7,
    ours() {
      const never = () => [
        made(PATTERNS[0], [Condition.data(spec).action.eq(NO_ACTION)]),
        made(PATTERNS[1], [Condition.stepIndex().lt(1)]),
        made(PATTERNS[2], [Condition.isEndEpisode()]),
      ];
      return structured(never);
    },
    rival: () => byHand(0),
  },
  beside(1, 1),
  beside(3, 1),
];
