/** The Python of all peers: build/peers/python, made once from requirements.txt, or one that REPRISE_PEERS names and that has all of it. */
import { join } from "node:path";
import { venv } from "../../build/venv.mjs";

/** Its program, or why there is none. */
export function python(scratch) {
  if (process.env.REPRISE_PEERS) return { program: process.env.REPRISE_PEERS };
  const home = join(scratch, "python");
  console.error(`the peers' Python is in ${home}; to make it takes some minutes and 3 GB`);
  // torch alone comes first: with it in place nothing else chooses a build for graphics cards.
  const { program, missing } = venv(home, join(import.meta.dirname, "requirements.txt"), ["3.11", "3.12", "3.13"], ["torch"]);
  return program === undefined ? { missing: `${missing}; REPRISE_PEERS names one that has bench/peers/requirements.txt` } : { program };
}
