// Finds the Pythons that have the real tools: created in build/, or named by environment variables.
import { join } from "node:path";
import { venv } from "../build/venv.mjs";

const root = join(import.meta.dirname, "..");

/** Returns a Python with tensorflow_datasets and pyarrow, or the Python in REPRISE_PYTHON. tensorflow 2.15 requires Python 3.9 to 3.11. */
export const tensorflowPython = () => python("REPRISE_PYTHON", "python", "requirements.txt", ["3.11", "3.10", "3.9"]);

/**
 * Returns a Python with lerobot, minari and robomimic, or the Python in REPRISE_DATASETS_PYTHON. The requirements of lerobot take 8 GB, so only the packages
 * that its datasets need are installed. Torch and torchvision come from different builds; torch_apart.py makes them work together.
 */
export const datasetsPython = () =>
  python("REPRISE_DATASETS_PYTHON", "datasets", "exports.txt", ["3.11", "3.12"], ["torch"], ["lerobot", "robomimic", "torchvision"]);

function python(variable, home, requirements, ...rest) {
  if (process.env[variable]) return process.env[variable];
  const { program, missing } = venv(join(root, "build", home), join(root, ".ci", requirements), ...rest);
  if (program === undefined) throw new Error(`${missing}: ${variable} may name one that has .ci/${requirements}`);
  return program;
}
