// Checks that test/originals/names.json contains every public name and test function of the real packages, and that test/originals/table.md has a row for each
// function. Creates a Python environment in build/originals with only these packages, whose code is not run. Reverb's package contains no tests. If
// REPRISE_REVERB names a checkout of its version, the tests are read from there.
import { deepEqual, ok } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { venv } from "../build/venv.mjs";
import { drift, faults, kept } from "../test/originals/count.mjs";
import { checks } from "./checks.mjs";

const root = join(import.meta.dirname, "..");
const { versions } = kept();

function sitePackages(program) {
  return execFileSync(program, ["-c", "import sysconfig; print(sysconfig.get_path('platlib'))"], { encoding: "utf8" }).trim();
}

await checks({
  "table.md has a test or a reason for each function of the originals' tests": () => deepEqual(faults(), []),
  "names.json has the names that the packages have": () => {
    // dm-reverb 0.14 requires Python 3.9 to 3.11.
    const { program, missing } = venv(join(root, "build/originals"), join(root, ".ci/originals.txt"), ["3.11", "3.10", "3.9"], [], Object.keys(versions));
    ok(program !== undefined, missing);
    const { found, unread } = drift([sitePackages(program), ...(process.env.REPRISE_REVERB ? [process.env.REPRISE_REVERB] : [])], program);
    deepEqual(found, []);
    const notThere = process.env.REPRISE_REVERB ? [] : Object.keys(kept().tests).filter((file) => file.startsWith("reverb/"));
    deepEqual(unread, notThere);
  },
});
