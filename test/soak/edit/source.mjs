// Creates a dataset of about BYTES bytes: `node source.mjs FORMAT PATH BYTES` prints the number of its episodes. Its observations are noise, which no codec
// compresses.
import { StepColumns, writeParquet, writeTfds } from "../../../dist/rlds.js";
import { noiseOf } from "./noise.mjs";

const [format, path, bytesText] = process.argv.slice(2);
const STATE = 1024;
const LENGTH = 50;
const SPARE = 8192;
const episodeCount = Math.max(40, Math.ceil(Number(bytesText) / (4 * STATE * LENGTH)));

const f32 = (...shape) => ({ dtype: "f32", shape });
const flag = { dtype: "bool", shape: [] };
const stepSpec = { observation: f32(STATE), action: f32(2), reward: f32(), discount: f32(), is_first: flag, is_last: flag, is_terminal: flag };
const noise = noiseOf(1);
/** The noise from which the episodes are cut. Each episode begins at another position. */
const pool = Float32Array.from({ length: STATE * LENGTH + SPARE }, noise);

function* episodes() {
  for (let k = 0; k < episodeCount; k++) {
    const at = (i) => Uint8Array.from({ length: LENGTH }, (_, step) => Number(step === i));
    const numbers = (n) => Float32Array.from({ length: n * LENGTH }, (_, i) => Math.sin(k + i * 0.01));
    const from = Math.floor(noise() * SPARE);
    const observations = pool.slice(from, from + STATE * LENGTH);
    // The columns in the order of their names: action, discount, is_first, is_last, is_terminal, observation, reward.
    const columns = [numbers(2), new Float32Array(LENGTH).fill(1), at(0), at(LENGTH - 1), new Uint8Array(LENGTH), observations, numbers(1)];
    yield { steps: new StepColumns(stepSpec, columns, LENGTH) };
  }
}

const data = { stepSpec, metadataSpec: {}, [Symbol.iterator]: episodes };
await (format === "tfds" ? writeTfds(data, path, { name: "demo" }) : writeParquet(data, path));
console.log(episodeCount);
