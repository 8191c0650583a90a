/**
 * Keeps stack traces of the package unmapped. The test runner maps each frame of a stack trace to its source. The errors of the package read the names in a
 * trace of sixty frames (`src/base/stack-trace.ts`), in an object that is not an error, and tests create many thousands of errors that are never printed.
 */
const PREPARED = Symbol.for("reprise: stack traces of errors alone are mapped");
const scope = globalThis as { [PREPARED]?: true };
const { prepareStackTrace } = Error;

if (prepareStackTrace !== undefined && !scope[PREPARED]) {
  scope[PREPARED] = true;
  Error.prepareStackTrace = (error, sites) => (error instanceof Error ? prepareStackTrace(error, sites) : ["", ...sites].join("\n    at "));
}
