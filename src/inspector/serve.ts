/** Serves a Replay to an inspector at the other end of a port. */
import { mustBe, ReplayError } from "../base/error.ts";
import { checkPort, encodeError, listen, type PortLike } from "../remote/channels/port.ts";
import { kindOfMessage, malformed } from "../remote/validators.ts";
import type { Replay } from "../replay/replay.ts";
import type { InspectorServer } from "./inspector-server.ts";
import { Pausable } from "./pausable.ts";
import { type AnswerMessage, buffersIn, type GoneMessage, type HereMessage, type ToReplay, VERSION } from "./protocol.ts";

/** A Replay that an inspector shows. */
export interface InspectedReplay {
  /** Whether the inspector has paused the program. */
  readonly paused: boolean;
  /**
   * Waits while the inspector has paused the program; call `await inspected.turn()` before each step. A program that does not call it is not paused.
   * @returns `undefined`, or a promise to await while the program is paused
   * @throws the signal's reason, if it is aborted
   */
  turn(options?: { readonly signal?: AbortSignal }): Promise<void> | undefined;
  /** Stops answering. A program that waits for a turn continues. */
  close(): void;
}

/**
 * Answers the questions of an inspector at the other end of a port (`inspector.port = port`). This does not change the Replay.
 * @param port a MessagePort; inside a worker also the global scope, or `parentPort`
 * @throws TypeError
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
        throw new ReplayError("UNSUPPORTED", `the inspector speaks version ${version} of the protocol, serveInspector ${VERSION}: use one version of Reprise`);
      if (kindOfMessage(question) === undefined) throw malformed("a question", "replay-inspector");
      // Loaded on demand, because a page that only connects to a port also imports this module and needs no WebAssembly.
      server ??= import("./inspector-server.ts").then(({ InspectorServer }) => new InspectorServer(replay));
      message = { reprise: "answer", id, answer: (await server).answer(question) };
    } catch (error) {
      message = { reprise: "answer", id, error: encodeError(error) };
    }
    if (!isClosed) port.postMessage(message, [...buffersIn(message.answer)]);
  };
  const onMessage = (message: unknown) => {
    const request = (message ?? {}) as ToReplay;
    // A request without a number receives no answer.
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
