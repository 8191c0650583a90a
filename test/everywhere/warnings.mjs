// Rejects warnings of bundlers that users could not fix because our package causes them.
import { PEERS } from "../../build/manifest.mjs";

/** Matches a warning that names an optional package, or a file of it. */
const OPTIONAL = new RegExp(`["'](${PEERS.join("|")})(/[^"']*)?["']`);

/** @param peers whether the optional packages are installed; if not, a bundler may warn about them @throws Error with the other warnings */
export function clean(warnings, peers) {
  const ours = warnings.filter((text) => peers || !OPTIONAL.test(text));
  if (ours.length > 0) throw new Error(ours.join("\n"));
}

/** Returns the warnings about imports in the output of a tool. */
export function warningsIn(text) {
  return text
    .split("\n")
    .filter((line) => /critical dependency|externalized for browser compatibility|(can't|could not|not be) resolve|unresolved/i.test(line));
}
