/** Finds the Python of all peers: build/peers/python, created once from requirements.txt, or the one in REPRISE_PEERS, which must have all packages. */
import { join } from "node:path";
import { venv } from "../../build/venv.mjs";

/** Returns the path of this Python's program, or the reason why there is none. */
export function python(scratch) {
  if (process.env.REPRISE_PEERS) return { program: process.env.REPRISE_PEERS };
  const home = join(scratch, "python");
  console.error(`the peers' Python is in ${home}; to make it takes some minutes and 3 GB`);
  // torch is installed first and separately. Once it is installed, no other package selects a build for graphics cards.
  const { program, missing } = venv(home, join(import.meta.dirname, "requirements.txt"), ["3.11", "3.12", "3.13"], ["torch"]);
  return program === undefined ? { missing: `${missing}; REPRISE_PEERS names one that has bench/peers/requirements.txt` } : { program };
}
