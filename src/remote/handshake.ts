/** Implements the exchange before the first step: the two ends compare their specs, and the actor's end learns the properties of the writer. */

import { ReplayError } from "../base/error.ts";
import { MAX_TIMEOUT_MS } from "../base/limits.ts";
import { leafText } from "../schema/leaf.ts";
import type { FoundLeaf } from "../schema/spec.ts";
import { fieldsOf, isCount, isFlag, isText, listOf, malformed, maybe, type Validator } from "./validators.ts";
import type { HelloMessage, LeafDescription, WelcomeMessage } from "./wire/messages.ts";
import { VERSION } from "./wire/messages.ts";

const SESSION = /^[\w-]{22,64}$/;

const isHello = fieldsOf({
  session: (value) => typeof value === "string" && SESSION.test(value),
  resume: isFlag,
  reconnects: isFlag,
  leaves: listOf(fieldsOf({ path: isText, text: isText })),
  lanes: isCount,
  receipt: isCount,
});
const isAtLeastOne: Validator = (value) => isCount(value) && value !== 0;
const isMilliseconds: Validator = (value) => isAtLeastOne(value) && (value as number) <= MAX_TIMEOUT_MS / 2;
const isWelcome = fieldsOf({
  keep: isAtLeastOne,
  across: isFlag,
  ends: fieldsOf({ lanes: isCount, hasTransitions: isFlag, observation: fieldsOf({ path: isText, leaves: listOf(isCount) }) }),
  reward: maybe(isCount),
  tables: listOf(isText),
  rules: listOf(isText),
  maxInFlight: isAtLeastOne,
  received: isCount,
  confirmed: isCount,
  frameBytes: maybe(isAtLeastOne),
  inFlightBytes: maybe(isAtLeastOne),
  shared: maybe(listOf(fieldsOf({ leaves: listOf(isCount), frameBytes: isAtLeastOne, capacity: isAtLeastOne }))),
  keepAliveMs: maybe(isMilliseconds),
  keepAliveTimeoutMs: maybe(isMilliseconds),
});

/** Returns a secret that cannot be guessed. */
export function makeSession(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Checks a message, and returns it as a welcome. @throws ReplayError CORRUPT if the message is not a valid welcome for these leaves */
export function checkWelcome(message: unknown, leaves: readonly FoundLeaf[]): WelcomeMessage {
  const welcome = message as WelcomeMessage;
  if (!isWelcome(message) || !namesKnownLeaves(leaves.length, welcome)) throw malformed("an answer", "acceptWriter");
  return welcome;
}

/** Returns whether all leaf numbers are in range. */
function namesKnownLeaves(leaves: number, { reward = 0, ends, shared = [] }: WelcomeMessage): boolean {
  return [reward, ...ends.observation.leaves, ...shared.flatMap((entry) => entry.leaves)].every((leaf) => leaf < leaves);
}

/** The properties that must not change within a session. */
const LASTING = ["keep", "across", "ends", "reward", "tables", "rules", "maxInFlight"] as const;

/** Compares the welcomes of a session. @throws ReplayError SPEC_MISMATCH if the writer at the Replay's end has other properties than before */
export function checkSameWelcome(first: WelcomeMessage, next: WelcomeMessage): void {
  const changed = LASTING.find((name) => JSON.stringify(first[name]) !== JSON.stringify(next[name]));
  if (changed === undefined) return;
  throw new ReplayError(
    "SPEC_MISMATCH",
    `${changed} of the writer at the other end has changed from ${JSON.stringify(first[changed])} to ${JSON.stringify(next[changed])}`,
  );
}

/** Checks the number of an actor's lanes. @throws ReplayError UNSUPPORTED if it exceeds `limits.lanes` */
export function checkLanes(lanes: number, max: number): void {
  if (lanes > max)
    throw new ReplayError(
      "UNSUPPORTED",
      `the other end accepts at most ${max} lanes per actor, got ${lanes}. Create several writers, or increase limits.lanes of acceptWriter`,
    );
}

/**
 * Checks a hello, compares the specs, and returns the hello. @throws ReplayError UNSUPPORTED if the protocol has another version · CORRUPT if the hello is
 * malformed · SPEC_MISMATCH if the specs differ
 */
export function checkHello(message: unknown, memory: readonly LeafDescription[]): HelloMessage {
  const { version, leaves } = (message ?? {}) as HelloMessage;
  if (typeof version === "number" && version !== VERSION)
    throw new ReplayError(
      "UNSUPPORTED",
      `remoteWriter uses version ${version} of the protocol, and acceptWriter uses ${VERSION}. Use the same version of Reprise at both ends`,
    );
  if (version !== VERSION || !isHello(message)) throw malformed("an opening message", "remoteWriter");
  const mismatch = difference(leaves, memory);
  if (mismatch !== undefined) throw new ReplayError("SPEC_MISMATCH", mismatch);
  return message as HelloMessage;
}

export function describeLeaves(leaves: readonly FoundLeaf[]): LeafDescription[] {
  return leaves.map(({ path, shape, leaf }) => ({
    path,
    text: leafText(leaf.dtype, shape) + (leaf.dtype === "string" ? ` and maxBytes ${leaf.maxBytes}` : ""),
  }));
}

/** Returns the first difference between two specs, as text. */
function difference(actor: readonly LeafDescription[], memory: readonly LeafDescription[]): string | undefined {
  const [actorTexts, memoryTexts] = [actor, memory].map((descriptions) => new Map(descriptions.map(({ path, text }) => [path, text]))) as [
    Map<string, string>,
    Map<string, string>,
  ];
  for (const path of new Set([...actorTexts.keys(), ...memoryTexts.keys()])) {
    const [actorText, replayText] = [actorTexts.get(path) ?? "missing", memoryTexts.get(path) ?? "missing"];
    if (actorText !== replayText) return `${path || "step"} is ${actorText} in the spec of remoteWriter, and ${replayText} in the spec of the Replay`;
  }
  // Columns are sent without names.
  const isSameOrder = actor.length === memory.length && actor.every(({ path }, i) => path === memory[i]?.path);
  return isSameOrder ? undefined : "the leaves in the spec of remoteWriter are not in the order of sorted keys";
}

export function portClosed(): ReplayError {
  return new ReplayError("CLOSED", "the port was closed, or its worker has ended");
}

/** Returns the error for a closed socket. @param code the close code of the socket, if there is a code */
export function socketClosed(code: number | undefined, reason = ""): ReplayError {
  const why = code === undefined ? "" : ` with code ${code}${reason === "" ? "" : `, ${JSON.stringify(reason)}`}`;
  return new ReplayError("CLOSED", `the socket was closed${why}`);
}

/** Returns the error for a hello of another session on a channel that already has a session. */
export function foreignHello(): ReplayError {
  return new ReplayError("CORRUPT", "a hello of another session arrived on a channel that already has a writer. Use a separate channel for each writer");
}

export function inUse(): ReplayError {
  return new ReplayError("OUT_OF_TURN", "this port already has a writer. Close that writer first, or use a separate MessageChannel for each writer");
}
