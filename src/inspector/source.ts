/** Implements the source of an inspector's answers: a Replay in this page, or the other end of a port. */
import { ReplayError } from "../base/error.ts";
import { checkPort, decodeError, listen, type PortLike } from "../remote/channels/port.ts";
import { malformed } from "../remote/validators.ts";
import type { Replay } from "../replay/replay.ts";
import { isAnswer } from "./answer-validators.ts";
import type { Pausable } from "./pausable.ts";
import type { Answer, Answers, Command, Kind, Questions } from "./protocol.ts";
import { type AskMessage, type CommandMessage, type ToInspector, VERSION } from "./protocol.ts";

type OnAnswer = (answer: Answer) => void;
type OnError = (error: Error) => void;

export interface Source {
  /** Calls one of the two callbacks, synchronously if the Replay is in this page. */
  ask<K extends Kind>(question: Questions[K] & { readonly kind: K }, onAnswer: (answer: Answers[K]) => void, onError: OnError): void;
  command(command: Command): void;
  close(): void;
}

/** Creates the source for a Replay in this page. @param pausable the program that fills the Replay */
export async function localSource(replay: Replay, pausable: Pausable): Promise<Source> {
  // The server is loaded on demand. With a Replay in the page, its code is already loaded.
  const { InspectorServer } = await import("./inspector-server.ts");
  const server = new InspectorServer(replay);
  return {
    ask(question, onAnswer, onError) {
      let answer: Answer;
      try {
        answer = server.answer(question);
      } catch (error) {
        return onError(error as Error);
      }
      (onAnswer as OnAnswer)(answer);
    },
    command: (command) => pausable[command](),
    close: () => pausable.resume(),
  };
}

/**
 * Creates the source for the other end of a port.
 * @param onConnect called when the other end starts to answer
 * @param onDisconnect called when the other end stops answering
 */
export function portSource(port: PortLike, onConnect: () => void, onDisconnect: () => void): Source {
  checkPort(port);
  const pending = new Map<number, { readonly kind: Kind; readonly onAnswer: OnAnswer; readonly onError: OnError }>();
  let last = 0;
  const disconnect = () => {
    for (const { onError } of pending.values()) onError(new ReplayError("CLOSED", "the program at the other end of the port no longer serves its Replay"));
    pending.clear();
    onDisconnect();
  };
  const onMessage = (message: unknown) => {
    const reply = (message ?? {}) as ToInspector;
    if (reply.reprise === "here") onConnect();
    if (reply.reprise === "gone") disconnect();
    if (reply.reprise !== "answer") return;
    const request = pending.get(reply.id);
    pending.delete(reply.id);
    if (request === undefined) return;
    if (reply.error !== undefined) request.onError(decodeError(reply.error));
    else if (isAnswer(request.kind, reply.answer)) request.onAnswer(reply.answer as Answer);
    else request.onError(malformed("an answer", "serveInspector"));
  };
  const stop = listen(port, onMessage, disconnect);
  return {
    ask(question, onAnswer, onError) {
      last++;
      pending.set(last, { kind: question.kind, onAnswer: onAnswer as OnAnswer, onError });
      port.postMessage({ reprise: "ask", version: VERSION, id: last, question } satisfies AskMessage);
    },
    command: (command) => port.postMessage({ reprise: "turn", command } satisfies CommandMessage),
    close() {
      port.postMessage({ reprise: "turn", command: "resume" } satisfies CommandMessage);
      stop();
      pending.clear();
    },
  };
}
