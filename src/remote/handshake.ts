/** How the two ends of a port meet: either may come first, both compare their specs, and from then on they speak over a channel of their own. */

import { finite, ReplayError } from "../base/error.ts";
import { MAX_TIMEOUT_MS } from "../base/limits.ts";
import { type WaitOptions, within } from "../base/wait.ts";
import { leafText } from "../schema/leaf.ts";
import type { FoundLeaf } from "../schema/spec.ts";
import type { EndRules } from "../tables/ends.ts";
import { fieldsOf, isCount, isFlag, isText, kindIn, listOf, type Form as MessageForm, malformed, maybe } from "./form.ts";
import type { RefusedMessage } from "./messages.ts";
import { Channel, checkPort, isPort, listen, type PortLike, received, sent } from "./port.ts";

/** Of all messages. Both ends must have the same. */
export const VERSION = 1;

/** A leaf, in a message. */
interface Form {
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
  readonly leaves: readonly Form[];
  readonly lanes: number;
  readonly channel: PortLike;
}

/** On the user's port: the memory's side has come; who asked before, and may not have been heard, asks again. */
interface Invitation {
  readonly reprise: "invitation";
}

/** On the channel: what the actor's side must know of the writer. */
export interface Welcome {
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
const isAtLeastOne: MessageForm = (value) => isCount(value) && value !== 0;
const isWelcome = fieldsOf({
  keep: isAtLeastOne,
  across: isFlag,
  ends: fieldsOf({ lanes: isCount, hasTransitions: isFlag, observation: fieldsOf({ path: isText, leaves: listOf(isCount) }) }),
  reward: maybe(isCount),
  tables: listOf(isText),
  rules: listOf(isText),
  maxInFlight: isAtLeastOne,
});

/** Whether all numbers of leaves are of some that there are. */
function isFor(leaves: number, { reward = 0, ends }: Welcome): boolean {
  return [reward, ...ends.observation.leaves].every((leaf) => leaf < leaves);
}

/** On the channel: the actor takes the welcome, or leaves. */
interface Answer {
  readonly kind: "ready" | "bye";
}

/** Ports that have a writer at this end, or wait for one. */
const taken = new WeakSet<object>();

/** Whom a port's memory end has answered last: who asks once more meanwhile has an answer already. */
const answered = new WeakMap<object, string>();

function take(port: PortLike): void {
  checkPort(port);
  if (taken.has(port)) throw twice();
  taken.add(port);
}

function twice(): ReplayError {
  return new ReplayError("OUT_OF_TURN", "this port already has a writer: close that first, or give each writer a MessageChannel of its own");
}

export function gone(): ReplayError {
  return new ReplayError("CLOSED", "the port was closed, or the worker behind it has ended");
}

function formsOf(leaves: readonly FoundLeaf[]): Form[] {
  return leaves.map(({ path, shape, leaf }) => ({
    path,
    text: leafText(leaf.dtype, shape) + (leaf.dtype === "string" ? ` and maxBytes ${leaf.maxBytes}` : ""),
  }));
}

/** Where two specs differ first. */
function difference(actor: readonly Form[], memory: readonly Form[]): string | undefined {
  const paths = [...new Set([...actor, ...memory].map(({ path }) => path))];
  const told = paths.map((path) => {
    const [here, there] = [actor, memory].map((forms) => forms.find((form) => form.path === path)?.text ?? "missing");
    return here === there ? undefined : `${path || "step"} is ${here} in the spec of remoteWriter, and ${there} in that of the Replay`;
  });
  return told.find((text) => text !== undefined);
}

/** What came of a handshake: the channel, and what lets the user's port go. */
export interface Met {
  readonly channel: Channel;
  readonly leave: () => void;
  /** Told where the user's port ends. */
  lost: () => void;
}

/**
 * The actor's end. Gives what `enter` makes once it was welcomed.
 * @throws ReplayError SPEC_MISMATCH, UNSUPPORTED, OUT_OF_TURN, CLOSED, TIMEOUT, or the signal's reason
 */
export async function knock<T>(
  port: PortLike,
  leaves: readonly FoundLeaf[],
  lanes: number,
  options: WaitOptions,
  enter: (met: Met, welcome: Welcome) => T,
): Promise<T> {
  const forms = formsOf(leaves);
  check(options);
  take(port);
  const id = crypto.getRandomValues(new Uint32Array(4)).join("-");
  const asked = new Set<Channel>();
  let stop = () => {};
  const entered = new Promise<T>((resolve, reject) => {
    const ask = () => {
      const { port1, port2 } = new MessageChannel();
      const channel = new Channel(port1);
      asked.add(channel);
      channel.heard = (message: Welcome | RefusedMessage) => {
        asked.delete(channel);
        if (kindIn(message) === "welcome" && isWelcome(message) && isFor(leaves.length, message as Welcome)) {
          const welcome = message as Welcome;
          channel.post({ kind: "ready" } satisfies Answer);
          stop();
          const met: Met = { channel, lost: () => {}, leave: () => leave() };
          const unheard = listenForEnd(port, () => met.lost());
          const leave = () => {
            unheard();
            taken.delete(port);
          };
          resolve(enter(met, welcome));
          return abandon(asked);
        }
        channel.close();
        reject(kindIn(message) === "refused" ? received((message as RefusedMessage).error) : malformed("an answer", "acceptWriter"));
      };
      port.postMessage({ reprise: "hello", version: VERSION, id, leaves: forms, lanes, channel: port2 } satisfies Hello, [port2]);
    };
    const heard = (message: unknown) => {
      const { reprise } = (message ?? {}) as Hello | Invitation;
      if (reprise === "invitation") ask();
      if (reprise === "hello") reject(new ReplayError("OUT_OF_TURN", "both ends of the port call remoteWriter: where the Replay is, call replay.acceptWriter"));
    };
    stop = listen(port, heard, () => reject(gone()));
    ask();
  });
  try {
    return await within(entered, "no acceptWriter answers at the other end of the port", options);
  } catch (error) {
    stop();
    taken.delete(port);
    abandon(asked);
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
function listenForEnd(port: PortLike, ended: () => void): () => void {
  const { on = port.addEventListener, off = port.removeEventListener } = port;
  on?.call(port, "close", ended);
  return () => off?.call(port, "close", ended);
}

/**
 * The memory's end. Gives what `enter` makes when an actor has come.
 * @param welcome for so many lanes; what it throws both ends are told
 * @throws as `knock`
 */
export async function admit<T>(
  port: PortLike,
  leaves: readonly FoundLeaf[],
  welcome: (lanes: number) => Welcome,
  options: WaitOptions,
  enter: (met: Met, lanes: number) => T,
): Promise<T> {
  const forms = formsOf(leaves);
  check(options);
  take(port);
  const guests = new Set<Channel>();
  let stop = () => {};
  const refuse = (channel: Channel, error: unknown) => {
    guests.delete(channel);
    channel.post({ kind: "refused", error: sent(error) } satisfies RefusedMessage);
    channel.close();
  };
  const leave = () => {
    stop();
    taken.delete(port);
    for (const guest of guests) refuse(guest, gone());
  };
  const entered = new Promise<T>((resolve, reject) => {
    let met: Met | undefined;
    const fail = (channel: Channel, error: unknown) => {
      refuse(channel, error);
      reject(error);
    };
    const hello = (asking: Hello) => {
      const { id, lanes } = asking;
      const channel = new Channel(asking.channel);
      if (id !== undefined && answered.get(port) === id) return channel.close();
      answered.set(port, id);
      if (met !== undefined) return refuse(channel, twice());
      try {
        channel.post(welcomeOf(asking));
      } catch (error) {
        return fail(channel, error);
      }
      guests.add(channel);
      channel.ended = () => guests.delete(channel);
      channel.heard = (answer: Answer) => {
        guests.delete(channel);
        if (kindIn(answer) !== "ready") return channel.close();
        try {
          met = { channel, leave, lost: () => {} };
          resolve(enter(met, lanes));
        } catch (error) {
          return fail(channel, error);
        }
        for (const guest of guests) refuse(guest, twice());
      };
    };
    const welcomeOf = (asking: Hello) => {
      const { version, leaves: asked, lanes } = asking;
      if (typeof version === "number" && version !== VERSION)
        throw new ReplayError("UNSUPPORTED", `remoteWriter speaks version ${version} of the protocol, acceptWriter ${VERSION}: use one version of Reprise`);
      if (version !== VERSION || !isHello(asking)) throw malformed("a question", "remoteWriter");
      const differs = difference(asked, forms);
      if (differs !== undefined) throw new ReplayError("SPEC_MISMATCH", differs);
      return welcome(lanes);
    };
    const heard = (message: unknown) => {
      const { reprise } = (message ?? {}) as Hello | Invitation;
      // Without a channel there is nobody to answer.
      if (reprise === "hello" && isPort((message as Hello).channel)) hello(message as Hello);
      if (reprise === "invitation")
        reject(new ReplayError("OUT_OF_TURN", "both ends of the port call acceptWriter: where the environment is, call remoteWriter"));
    };
    const ended = () => {
      if (met === undefined) reject(gone());
      else met.lost();
    };
    stop = listen(port, heard, ended);
    port.postMessage({ reprise: "invitation" } satisfies Invitation);
  });
  try {
    return await within(entered, "no remoteWriter asks at the other end of the port", options);
  } catch (error) {
    leave();
    throw error;
  }
}

function check({ signal, timeoutMs }: WaitOptions): void {
  if (timeoutMs !== undefined) finite("timeoutMs", timeoutMs, 0, MAX_TIMEOUT_MS);
  signal?.throwIfAborted();
}
