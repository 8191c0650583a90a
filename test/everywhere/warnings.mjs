// Warnings of bundlers that must not occur: users could not fix a warning that our package causes.
import { PEERS } from "../../build/manifest.mjs";

/** A warning that names an optional package, or a file of it. */
const OPTIONAL = new RegExp(`["'](${PEERS.join("|")})(/[^"']*)?["']`);

/** @param peers whether the optional packages are there; where they are not, a bundler may say so @throws Error with the other warnings */
export function clean(warnings, peers) {
  const ours = warnings.filter((text) => peers || !OPTIONAL.test(text));
  if (ours.length > 0) throw new Error(ours.join("\n"));
}

/** Where a tool has only text: its lines about imports. */
export function warningsIn(text) {
  return text
    .split("\n")
    .filter((line) => /critical dependency|externalized for browser compatibility|(can't|could not|not be) resolve|unresolved/i.test(line));
}
