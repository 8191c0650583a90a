/** Connects a writer's end: through a port, a socket, or a function that makes sockets. */
import { finite, mustBe } from "../../base/error.ts";
import { abortable, checkWait, type WaitOptions } from "../../base/wait.ts";
import { portClosed } from "../handshake.ts";
import { kindOfMessage } from "../validators.ts";
import { channelOf, claimSocket, type Socket } from "./channel.ts";
import { Conversation, type ConversationOptions } from "./conversation.ts";
import { Dialer } from "./dialer.ts";
import { isPort, type PortLike } from "./port.ts";
import { meetMemory } from "./port-handshake.ts";

/** The targets of `remoteWriter`. With a URL or a function, the writer reconnects if the connection breaks. */
export type WriterTarget = PortLike | Socket | string | URL | (() => Socket | Promise<Socket>);

const TARGET_KINDS = "a MessagePort, a Worker, a WebSocket, a ByteChannel with send, close and receive, or a URL or a function that makes a socket";

const RECONNECT_TIMEOUT_MS = 60_000;

interface ConnectOptions extends WaitOptions {
  readonly reconnectTimeoutMs?: number;
}

/** Resolves with the result of `make` after the other end has answered. @throws the errors of `remoteWriter` */
export async function connect<T>(
  target: WriterTarget,
  options: Omit<ConversationOptions, "reconnects">,
  { signal, timeoutMs, reconnectTimeoutMs = RECONNECT_TIMEOUT_MS }: ConnectOptions,
  make: (conversation: Conversation) => T,
): Promise<T> {
  checkWait({ signal, timeoutMs });
  if (reconnectTimeoutMs !== Number.POSITIVE_INFINITY) finite("reconnectTimeoutMs", reconnectTimeoutMs, 0);
  const dial = dialOf(target);
  const conversation = new Conversation({ ...options, reconnects: dial !== undefined });
  let leave: (code?: number, reason?: string) => void = () => {};
  const result = new Promise<T>((resolve, reject) => {
    conversation.onStart = () => resolve(make(conversation));
    conversation.onDone = (error) => {
      leave();
      reject(error);
    };
  });
  // Errors are reported only through the returned promise.
  result.catch(() => {});
  if (isPort(target)) leave = meet(target, conversation);
  else {
    const channel = dial === undefined ? channelOf(target, "port", TARGET_KINDS) : undefined;
    if (dial === undefined) claimSocket(target as object, "a remote writer");
    const { leaves, lanes } = options;
    const dialer = new Dialer(conversation, { connect: dial, channel, reconnectTimeoutMs, leaves, lanes });
    leave = () => dialer.close();
    dialer.dial();
  }
  try {
    const what = isPort(target) ? "no acceptWriter answered at the other end of the port" : "no acceptWriter answered at the other end of the socket";
    return await abortable(result, what, { signal, timeoutMs });
  } catch (error) {
    leave();
    throw error;
  }
}

/** Returns a function that makes sockets; undefined for a port or an existing socket. @throws TypeError for a URL if the runtime has no WebSocket */
function dialOf(target: WriterTarget): (() => unknown) | undefined {
  if (typeof target === "function") return target;
  if (typeof target !== "string" && !(target instanceof URL)) return undefined;
  const { WebSocket } = globalThis;
  if (typeof WebSocket !== "function")
    throw mustBe(
      TypeError,
      "port",
      [
        "a function that makes a socket, because this runtime has no WebSocket",
        'Pass a function such as () => new WebSocket(url), with WebSocket from the package "ws"',
      ],
      String(target),
    );
  return () => new WebSocket(target);
}

/** Meets the Replay's end at a port. Returns a function that releases the port. */
function meet(port: PortLike, conversation: Conversation): () => void {
  let leave: (() => void) | undefined;
  const meeting = meetMemory(
    port,
    conversation.hello,
    (link, message, take) => {
      if (kindOfMessage(message) === "refused") {
        link.close();
        return conversation.receive(message);
      }
      try {
        const welcome = conversation.check(message);
        leave = take();
        link.onMessage = (next: never) => conversation.receive(next);
        link.onEnd = () => conversation.fail(portClosed());
        conversation.start(link, welcome);
        link.keepAlive(false);
      } catch (error) {
        link.close();
        conversation.fail(error as Error);
      }
    },
    (error) => conversation.fail(error),
  );
  return () => (leave ?? meeting.abandon)();
}
