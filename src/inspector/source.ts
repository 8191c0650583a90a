/** Where an inspector's answers come from: a Replay in this page, or the other end of a port. */
import { ReplayError } from "../base/error.ts";
import { malformed } from "../remote/form.ts";
import { checkPort, listen, type PortLike, received } from "../remote/port.ts";
import type { Replay } from "../replay/replay.ts";
import { isAnswer } from "./answer-form.ts";
import { type AskMessage, type CommandMessage, type ToInspector, VERSION } from "./messages.ts";
import type { Answer, Answers, Asked, Command, Kind } from "./survey.ts";
import type { Turns } from "./turns.ts";

type Answered = (answer: Answer) => void;
type Failed = (error: Error) => void;

export interface Source {
  /** Calls one of the two: at once where the Replay is in this page. */
  ask<K extends Kind>(question: Asked[K] & { readonly kind: K }, answered: (answer: Answers[K]) => void, failed: Failed): void;
  command(command: Command): void;
  close(): void;
}

/** A Replay in this page. @param turns of the program that fills it */
export async function ofReplay(replay: Replay, turns: Turns): Promise<Source> {
  // Loaded when asked for: where the Replay is, its code is there already.
  const { Surveyor } = await import("./surveyor.ts");
  const surveyor = new Surveyor(replay);
  return {
    ask(question, answered, failed) {
      let answer: Answer;
      try {
        answer = surveyor.answer(question);
      } catch (error) {
        return failed(error as Error);
      }
      (answered as Answered)(answer);
    },
    command: (command) => turns[command](),
    close: () => turns.resume(),
  };
}

/** The other end of a port. @param here told when somebody answers there from now on, and `gone` when nobody does any more */
export function ofPort(port: PortLike, here: () => void, gone: () => void): Source {
  checkPort(port);
  const asked = new Map<number, { readonly kind: Kind; readonly answered: Answered; readonly failed: Failed }>();
  let last = 0;
  const lost = () => {
    for (const { failed } of asked.values()) failed(new ReplayError("CLOSED", "the program at the other end of the port shows its Replay no more"));
    asked.clear();
    gone();
  };
  const heard = (message: unknown) => {
    const to = (message ?? {}) as ToInspector;
    if (to.reprise === "here") here();
    if (to.reprise === "gone") lost();
    if (to.reprise !== "answer") return;
    const waiting = asked.get(to.id);
    asked.delete(to.id);
    if (waiting === undefined) return;
    if (to.error !== undefined) waiting.failed(received(to.error));
    else if (isAnswer(waiting.kind, to.answer)) waiting.answered(to.answer as Answer);
    else waiting.failed(malformed("an answer", "serveInspector"));
  };
  const stop = listen(port, heard, lost);
  return {
    ask(question, answered, failed) {
      last++;
      asked.set(last, { kind: question.kind, answered: answered as Answered, failed });
      port.postMessage({ reprise: "ask", version: VERSION, id: last, question } satisfies AskMessage);
    },
    command: (command) => port.postMessage({ reprise: "turn", command } satisfies CommandMessage),
    close() {
      port.postMessage({ reprise: "turn", command: "resume" } satisfies CommandMessage);
      stop();
      asked.clear();
    },
  };
}
