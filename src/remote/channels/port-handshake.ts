/** Implements the handshake of two ends at a port. Either end may start first. Afterwards, the ends communicate over a separate channel. */

import { ReplayError } from "../../base/error.ts";
import { inUse, portClosed } from "../handshake.ts";
import { kindOfMessage } from "../validators.ts";
import type { HelloMessage, RefusedMessage, WelcomeMessage } from "../wire/messages.ts";
import type { Arrival } from "./arrival.ts";
import { PortLink } from "./link.ts";
import { encodeError, isPort, listen, type PortLike } from "./port.ts";

/** On the user's port: an actor requests a connection, and passes the channel for the connection. */
interface PortHello extends Omit<HelloMessage, "kind"> {
  readonly reprise: "hello";
  readonly channel: PortLike;
}

/** On the user's port: the Replay's end is ready. */
interface Invitation {
  readonly reprise: "invitation";
}

/** On the channel: the actor accepts the welcome, or leaves. */
interface Answer {
  readonly kind: "ready" | "bye";
}

/** Ports that have a writer at this end, or wait for a writer. */
const busyPorts = new WeakSet<object>();

/** The session that was last answered at each port. A repeated request of the same session needs no second answer. */
const answered = new WeakMap<object, string>();

function claimPort(port: PortLike): void {
  if (busyPorts.has(port)) throw inUse();
  busyPorts.add(port);
}

/** A pending handshake at a port. */
export interface PortMeeting {
  /** Abandons the handshake, and releases the port. */
  abandon(): void;
}

/**
 * Requests a connection at a port, as the actor's end.
 * @param onAnswer receives each link whose other end has answered, with the answer and `take`. That function lets the Replay's end start, and returns a
 * function that releases the port
 */
export function meetMemory(
  port: PortLike,
  hello: HelloMessage,
  onAnswer: (link: PortLink, message: WelcomeMessage | RefusedMessage, take: () => () => void) => void,
  onError: (error: ReplayError) => void,
): PortMeeting {
  claimPort(port);
  const links = new Set<PortLink>();
  /** Closes unused links, so that a welcome in transit has no effect. */
  const abandonLinks = () => {
    for (const link of links) {
      link.post({ kind: "bye" } satisfies Answer);
      link.close();
    }
    links.clear();
  };
  const { kind: _, ...fields } = hello;
  const ask = () => {
    const { port1, port2 } = new MessageChannel();
    const link = new PortLink(port1);
    links.add(link);
    const take = () => {
      link.post({ kind: "ready" } satisfies Answer);
      stop();
      const stopListening = listenForEnd(port, () => link.onEnd());
      abandonLinks();
      return () => {
        stopListening();
        busyPorts.delete(port);
        link.close();
      };
    };
    link.onMessage = (message: WelcomeMessage | RefusedMessage) => {
      links.delete(link);
      onAnswer(link, message, take);
    };
    port.postMessage({ reprise: "hello", ...fields, channel: port2 } satisfies PortHello, [port2]);
  };
  const onMessage = (message: unknown) => {
    const { reprise } = (message ?? {}) as PortHello | Invitation;
    if (reprise === "invitation") ask();
    if (reprise === "hello")
      onError(new ReplayError("OUT_OF_TURN", "both sides of the port call remoteWriter. Call replay.acceptWriter on the side that has the Replay"));
  };
  const stop = listen(port, onMessage, () => onError(portClosed()));
  ask();
  return {
    abandon() {
      stop();
      busyPorts.delete(port);
      abandonLinks();
    },
  };
}

/** Listens for the end of a port. Unlike a listener for messages, this listener does not keep a process alive. */
function listenForEnd(port: PortLike, onEnd: () => void): () => void {
  const { on = port.addEventListener, off = port.removeEventListener } = port;
  on?.call(port, "close", onEnd);
  return () => off?.call(port, "close", onEnd);
}

/**
 * Answers at a port, as the Replay's end.
 * @param reply returns the answer to a hello. If it throws, both ends receive the error
 * @param onReady receives the link of the actor that accepted the answer, and a function that releases the port
 */
export function meetActor(
  arrival: Arrival,
  reply: (hello: unknown) => WelcomeMessage,
  onReady: (link: PortLink, hello: HelloMessage, leave: () => void) => void,
  onError: (error: unknown) => void,
): PortMeeting {
  const port = arrival.port as PortLike;
  claimPort(port);
  const candidates = new Set<PortLink>();
  const refuse = (link: PortLink, error: unknown) => {
    candidates.delete(link);
    link.post({ kind: "refused", error: encodeError(error) } satisfies RefusedMessage);
    link.close();
  };
  let writer: PortLink | undefined;
  const fail = (link: PortLink, error: unknown) => {
    refuse(link, error);
    onError(error);
  };
  const onHello = (hello: PortHello) => {
    const { session } = hello;
    const link = new PortLink(hello.channel);
    if (session !== undefined && answered.get(port) === session) return link.close();
    answered.set(port, session);
    if (writer !== undefined) return refuse(link, inUse());
    try {
      link.post(reply(hello));
    } catch (error) {
      return fail(link, error);
    }
    candidates.add(link);
    link.onEnd = () => candidates.delete(link);
    link.onMessage = (answer: Answer) => {
      candidates.delete(link);
      if (kindOfMessage(answer) !== "ready") return link.close();
      writer = link;
      try {
        onReady(link, { ...hello, kind: "hello" }, abandon);
      } catch (error) {
        return fail(link, error);
      }
      for (const candidate of candidates) refuse(candidate, inUse());
    };
  };
  const onMessage = (message: unknown) => {
    const { reprise } = (message ?? {}) as PortHello | Invitation;
    // A hello without a channel cannot be answered.
    if (reprise === "hello" && isPort((message as PortHello).channel)) onHello(message as PortHello);
    if (reprise === "invitation")
      onError(new ReplayError("OUT_OF_TURN", "both sides of the port call acceptWriter. Call remoteWriter on the side that has the environment"));
  };
  const onEnd = () => {
    if (writer === undefined) onError(portClosed());
    // Earlier messages may still be in transit over the channel.
    else setTimeout(() => writer?.onEnd(), 0);
  };
  const stop = arrival.takePort(onMessage, onEnd);
  const abandon = () => {
    stop();
    busyPorts.delete(port);
    for (const candidate of candidates) refuse(candidate, portClosed());
  };
  port.postMessage({ reprise: "invitation" } satisfies Invitation);
  return { abandon };
}
