/** How the two ends of a port meet: either may come first, both compare their specs, and from then on they speak over a channel of their own. */

import { finite, ReplayError } from "../base/error.ts";
import { MAX_TIMEOUT_MS } from "../base/limits.ts";
import { abortable, type WaitOptions } from "../base/wait.ts";
import { leafText } from "../schema/leaf.ts";
import type { FoundLeaf } from "../schema/spec.ts";
import type { EndRules } from "../tables/episode-ends.ts";
import type { RefusedMessage } from "./messages.ts";
import { Channel, checkPort, decodeError, encodeError, isPort, listen, type PortLike } from "./port.ts";
import { fieldsOf, isCount, isFlag, isText, kindOfMessage, listOf, malformed, maybe, type Validator } from "./validators.ts";

/** Of all messages. Both ends must have the same. */
export const VERSION = 1;

/** A leaf, in a message. */
interface LeafDescription {
  readonly path: string;
  /** Dtype and shape, and of text how long it may be. */
  readonly text: string;
}

/** On the user's port: an actor asks to be let in, by the channel that it brings. */
interface Hello {
  readonly reprise: "hello";
  readonly version: number;
  /** The same each time that one call of remoteWriter asks. */
  readonly id: string;
  readonly leaves: readonly LeafDescription[];
  readonly lanes: number;
  readonly channel: PortLike;
}

/** On the user's port: the memory's side has come; who asked before, and may not have been heard, asks again. */
interface Invitation {
  readonly reprise: "invitation";
}

/** On the channel: what the actor's side must know of the writer. */
export interface HelloReply {
  readonly kind: "welcome";
  readonly keep: number;
  readonly across: boolean;
  readonly ends: EndRules;
  /** The leaf whose values must be finite, by its number. */
  readonly reward: number | undefined;
  readonly tables: readonly string[];
  /** The table of each rule. */
  readonly rules: readonly string[];
  readonly maxInFlight: number;
}

const isHello = fieldsOf({ id: isText, leaves: listOf(fieldsOf({ path: isText, text: isText })), lanes: isCount });
const isAtLeastOne: Validator = (value) => isCount(value) && value !== 0;
const isHelloReply = fieldsOf({
  keep: isAtLeastOne,
  across: isFlag,
  ends: fieldsOf({ lanes: isCount, hasTransitions: isFlag, observation: fieldsOf({ path: isText, leaves: listOf(isCount) }) }),
  reward: maybe(isCount),
  tables: listOf(isText),
  rules: listOf(isText),
  maxInFlight: isAtLeastOne,
});

/** Whether all numbers of leaves are of some that there are. */
function namesKnownLeaves(leaves: number, { reward = 0, ends }: HelloReply): boolean {
  return [reward, ...ends.observation.leaves].every((leaf) => leaf < leaves);
}

/** On the channel: the actor takes the welcome, or leaves. */
interface Answer {
  readonly kind: "ready" | "bye";
}

/** Ports that have a writer at this end, or wait for one. */
const busyPorts = new WeakSet<object>();

/** Whom a port's memory end has answered last: who asks once more meanwhile has an answer already. */
const answeredIds = new WeakMap<object, string>();

function claimPort(port: PortLike): void {
  checkPort(port);
  if (busyPorts.has(port)) throw portInUse();
  busyPorts.add(port);
}

function portInUse(): ReplayError {
  return new ReplayError("OUT_OF_TURN", "this port already has a writer: close that first, or give each writer a MessageChannel of its own");
}

export function portClosed(): ReplayError {
  return new ReplayError("CLOSED", "the port was closed, or the worker behind it has ended");
}

function describeLeaves(leaves: readonly FoundLeaf[]): LeafDescription[] {
  return leaves.map(({ path, shape, leaf }) => ({
    path,
    text: leafText(leaf.dtype, shape) + (leaf.dtype === "string" ? ` and maxBytes ${leaf.maxBytes}` : ""),
  }));
}

/** Where two specs differ first. */
function difference(actor: readonly LeafDescription[], memory: readonly LeafDescription[]): string | undefined {
  const paths = [...new Set([...actor, ...memory].map(({ path }) => path))];
  const differences = paths.map((path) => {
    const [actorText, replayText] = [actor, memory].map((descriptions) => descriptions.find((description) => description.path === path)?.text ?? "missing");
    return actorText === replayText ? undefined : `${path || "step"} is ${actorText} in the spec of remoteWriter, and ${replayText} in that of the Replay`;
  });
  return differences.find((text) => text !== undefined);
}

/** The result of a handshake: the channel, and a function that releases the user's port. */
export interface Connection {
  readonly channel: Channel;
  readonly leave: () => void;
  /** Told where the user's port ends. */
  onLost: () => void;
}

/**
 * Connects the actor's end. Returns the result of `onConnect` when the other end has replied.
 * @throws ReplayError SPEC_MISMATCH, UNSUPPORTED, OUT_OF_TURN, CLOSED, TIMEOUT, or the signal's reason
 */
export async function connect<T>(
  port: PortLike,
  leaves: readonly FoundLeaf[],
  lanes: number,
  options: WaitOptions,
  onConnect: (connection: Connection, reply: HelloReply) => T,
): Promise<T> {
  const descriptions = describeLeaves(leaves);
  check(options);
  claimPort(port);
  const id = crypto.getRandomValues(new Uint32Array(4)).join("-");
  const channels = new Set<Channel>();
  let stop = () => {};
  const result = new Promise<T>((resolve, reject) => {
    const sendHello = () => {
      const { port1, port2 } = new MessageChannel();
      const channel = new Channel(port1);
      channels.add(channel);
      channel.onMessage = (message: HelloReply | RefusedMessage) => {
        channels.delete(channel);
        if (kindOfMessage(message) === "welcome" && isHelloReply(message) && namesKnownLeaves(leaves.length, message as HelloReply)) {
          const reply = message as HelloReply;
          channel.post({ kind: "ready" } satisfies Answer);
          stop();
          const connection: Connection = { channel, onLost: () => {}, leave: () => leave() };
          const stopListening = listenForEnd(port, () => connection.onLost());
          const leave = () => {
            stopListening();
            busyPorts.delete(port);
          };
          resolve(onConnect(connection, reply));
          return abandon(channels);
        }
        channel.close();
        reject(kindOfMessage(message) === "refused" ? decodeError((message as RefusedMessage).error) : malformed("an answer", "acceptWriter"));
      };
      port.postMessage({ reprise: "hello", version: VERSION, id, leaves: descriptions, lanes, channel: port2 } satisfies Hello, [port2]);
    };
    const onMessage = (message: unknown) => {
      const { reprise } = (message ?? {}) as Hello | Invitation;
      if (reprise === "invitation") sendHello();
      if (reprise === "hello") reject(new ReplayError("OUT_OF_TURN", "both ends of the port call remoteWriter: where the Replay is, call replay.acceptWriter"));
    };
    stop = listen(port, onMessage, () => reject(portClosed()));
    sendHello();
  });
  try {
    return await abortable(result, "no acceptWriter answers at the other end of the port", options);
  } catch (error) {
    stop();
    busyPorts.delete(port);
    abandon(channels);
    throw error;
  }
}

/** Channels that nobody needs any more: a welcome that is on its way goes nowhere. */
function abandon(channels: Set<Channel>): void {
  for (const channel of channels) {
    channel.post({ kind: "bye" } satisfies Answer);
    channel.close();
  }
  channels.clear();
}

/** Unlike a listener for messages, this keeps no process alive. */
function listenForEnd(port: PortLike, onEnd: () => void): () => void {
  const { on = port.addEventListener, off = port.removeEventListener } = port;
  on?.call(port, "close", onEnd);
  return () => off?.call(port, "close", onEnd);
}

/**
 * Connects the memory's end. Returns the result of `onConnect` when an actor has come.
 * @param replyTo makes the reply for so many lanes; both ends receive what it throws
 * @throws as `connect`
 */
export async function acceptConnection<T>(
  port: PortLike,
  leaves: readonly FoundLeaf[],
  replyTo: (lanes: number) => HelloReply,
  options: WaitOptions,
  onConnect: (connection: Connection, lanes: number) => T,
): Promise<T> {
  const descriptions = describeLeaves(leaves);
  check(options);
  claimPort(port);
  const candidates = new Set<Channel>();
  let stop = () => {};
  const refuse = (channel: Channel, error: unknown) => {
    candidates.delete(channel);
    channel.post({ kind: "refused", error: encodeError(error) } satisfies RefusedMessage);
    channel.close();
  };
  const leave = () => {
    stop();
    busyPorts.delete(port);
    for (const candidate of candidates) refuse(candidate, portClosed());
  };
  const result = new Promise<T>((resolve, reject) => {
    let connection: Connection | undefined;
    const fail = (channel: Channel, error: unknown) => {
      refuse(channel, error);
      reject(error);
    };
    const onHello = (hello: Hello) => {
      const { id, lanes } = hello;
      const channel = new Channel(hello.channel);
      if (id !== undefined && answeredIds.get(port) === id) return channel.close();
      answeredIds.set(port, id);
      if (connection !== undefined) return refuse(channel, portInUse());
      try {
        channel.post(checkedReply(hello));
      } catch (error) {
        return fail(channel, error);
      }
      candidates.add(channel);
      channel.onEnd = () => candidates.delete(channel);
      channel.onMessage = (answer: Answer) => {
        candidates.delete(channel);
        if (kindOfMessage(answer) !== "ready") return channel.close();
        try {
          connection = { channel, leave, onLost: () => {} };
          resolve(onConnect(connection, lanes));
        } catch (error) {
          return fail(channel, error);
        }
        for (const candidate of candidates) refuse(candidate, portInUse());
      };
    };
    const checkedReply = (hello: Hello) => {
      const { version, leaves: actorLeaves, lanes } = hello;
      if (typeof version === "number" && version !== VERSION)
        throw new ReplayError("UNSUPPORTED", `remoteWriter speaks version ${version} of the protocol, acceptWriter ${VERSION}: use one version of Reprise`);
      if (version !== VERSION || !isHello(hello)) throw malformed("a question", "remoteWriter");
      const mismatch = difference(actorLeaves, descriptions);
      if (mismatch !== undefined) throw new ReplayError("SPEC_MISMATCH", mismatch);
      return replyTo(lanes);
    };
    const onMessage = (message: unknown) => {
      const { reprise } = (message ?? {}) as Hello | Invitation;
      // Without a channel there is nobody to answer.
      if (reprise === "hello" && isPort((message as Hello).channel)) onHello(message as Hello);
      if (reprise === "invitation")
        reject(new ReplayError("OUT_OF_TURN", "both ends of the port call acceptWriter: where the environment is, call remoteWriter"));
    };
    const onEnd = () => {
      if (connection === undefined) reject(portClosed());
      else connection.onLost();
    };
    stop = listen(port, onMessage, onEnd);
    port.postMessage({ reprise: "invitation" } satisfies Invitation);
  });
  try {
    return await abortable(result, "no remoteWriter asks at the other end of the port", options);
  } catch (error) {
    leave();
    throw error;
  }
}

function check({ signal, timeoutMs }: WaitOptions): void {
  if (timeoutMs !== undefined) finite("timeoutMs", timeoutMs, 0, MAX_TIMEOUT_MS);
  signal?.throwIfAborted();
}
