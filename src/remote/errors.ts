/** Makes the errors of an actor's calls. */
import { ReplayError } from "../base/error.ts";

export function inFlightError(count: number, noun: string, max: number, call: string): ReplayError {
  return new ReplayError("RATE_LIMITED", `${count} ${noun} are already in flight, and maxInFlight is ${max}. Await the promise from ${call}`);
}

export function tooManyFlushes(count: number): ReplayError {
  return new ReplayError("RATE_LIMITED", `${count} calls to flush are waiting for an answer. Await them before this call`);
}

export function closedError(): ReplayError {
  return new ReplayError("CLOSED", "this writer was closed. Create a new one with remoteWriter()");
}

/** Returns the error of a closed writer if the Replay's end sent no reason. */
export function closedThere(): ReplayError {
  return new ReplayError("CLOSED", "the other end has closed the writer. Create a new one with remoteWriter()");
}

export function offlineError(): ReplayError {
  return new ReplayError("IO", 'there is no connection to the Replay, and whileOffline is "fail". Call again when writer.connected is true');
}
