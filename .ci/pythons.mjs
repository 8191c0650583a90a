// The Pythons that have the real tools: made in build/, or what the environment names.
import { join } from "node:path";
import { venv } from "../build/venv.mjs";

const root = join(import.meta.dirname, "..");

/** With tensorflow_datasets and pyarrow, or what REPRISE_PYTHON names. tensorflow 2.15 is for Python 3.9 to 3.11. */
export const tensorflowPython = () => python("REPRISE_PYTHON", "python", "requirements.txt", ["3.11", "3.10", "3.9"]);

/**
 * With lerobot, minari and robomimic, or what REPRISE_DATASETS_PYTHON names. lerobot's own requirements are 8 GB: here is what its datasets take. Torch and torchvision are not of one build:
 * torch_apart.py says how they go together.
 */
export const datasetsPython = () =>
  python("REPRISE_DATASETS_PYTHON", "datasets", "exports.txt", ["3.11", "3.12"], ["torch"], ["lerobot", "robomimic", "torchvision"]);

function python(variable, home, requirements, ...rest) {
  if (process.env[variable]) return process.env[variable];
  const { program, missing } = venv(join(root, "build", home), join(root, ".ci", requirements), ...rest);
  if (program === undefined) throw new Error(`${missing}: ${variable} may name one that has .ci/${requirements}`);
  return program;
}
