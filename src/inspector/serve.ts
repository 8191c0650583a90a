/** Implements the Replay's end of a port to an inspector. */
import { mustBe, ReplayError } from "../base/error.ts";
import { checkPort, encodeError, listen, type PortLike } from "../remote/channels/port.ts";
import { kindOfMessage, malformed } from "../remote/validators.ts";
import type { Replay } from "../replay/replay.ts";
import type { InspectorServer } from "./inspector-server.ts";
import { Pausable } from "./pausable.ts";
import { type AnswerMessage, buffersIn, type GoneMessage, type HereMessage, type ToReplay, VERSION } from "./protocol.ts";

/** A Replay that is served to an inspector. */
export interface InspectedReplay {
  /** Whether the inspector has paused the program. */
  readonly paused: boolean;
  /**
   * Requests a turn. A program that can be paused calls it before each step: `await inspected.turn()`. A program that does not call it is never paused.
   * @returns `undefined`, or a promise to await while the inspector has paused the program
   * @throws the signal's reason if the signal aborts
   */
  turn(options?: { readonly signal?: AbortSignal }): Promise<void> | undefined;
  /** Stops answering the inspector. Calls that wait for a turn continue. */
  close(): void;
}

/**
 * Answers the inspector at the other end of a port: `inspector.port = port`. The Replay does not change.
 * @param port a MessagePort; inside a worker, also the global scope, or `parentPort`
 * @throws TypeError if `replay` is not a Replay, or `port` is not a port
 */
export function serveInspector(replay: Replay, port: PortLike): InspectedReplay {
  if (typeof (replay as Partial<Replay> | undefined)?.stats !== "function") throw mustBe(TypeError, "replay", "a Replay", replay);
  checkPort(port);
  const pausable = new Pausable();
  let server: Promise<InspectorServer> | undefined;
  let isClosed = false;
  const respond = async ({ version, id, question }: Extract<ToReplay, { reprise: "ask" }>) => {
    let message: AnswerMessage;
    try {
      if (version !== VERSION)
        throw new ReplayError(
          "UNSUPPORTED",
          `the inspector uses version ${version} of the protocol, but serveInspector uses version ${VERSION}. Use the same version of Reprise at both ends`,
        );
      if (kindOfMessage(question) === undefined) throw malformed("a request", "replay-inspector");
      // The server is loaded on demand, because a page that uses a port imports this file and needs no WebAssembly.
      server ??= import("./inspector-server.ts").then(({ InspectorServer }) => new InspectorServer(replay));
      message = { reprise: "answer", id, answer: (await server).answer(question) };
    } catch (error) {
      message = { reprise: "answer", id, error: encodeError(error) };
    }
    if (!isClosed) port.postMessage(message, [...buffersIn(message.answer)]);
  };
  const onMessage = (message: unknown) => {
    const request = (message ?? {}) as ToReplay;
    // Without an id, there is no caller to answer.
    if (request.reprise === "ask" && typeof request.id === "number") void respond(request);
    else if (request.reprise === "turn" && ["pause", "step", "resume"].includes(request.command)) pausable[request.command]();
  };
  const stop = listen(port, onMessage, () => pausable.resume());
  port.postMessage({ reprise: "here" } satisfies HereMessage);
  return {
    get paused() {
      return pausable.paused;
    },
    turn: ({ signal } = {}) => pausable.turn(signal),
    close() {
      if (isClosed) return;
      isClosed = true;
      stop();
      pausable.resume();
      port.postMessage({ reprise: "gone" } satisfies GoneMessage);
    },
  };
}
