/** Errors of an actor's calls. */
import { ReplayError } from "../base/error.ts";

export function inFlightError(count: number, noun: string, max: number, call: string): ReplayError {
  return new ReplayError("RATE_LIMITED", `${count} ${noun} are on their way already, maxInFlight is ${max}: await what ${call} gives`);
}

export function tooManyFlushes(count: number): ReplayError {
  return new ReplayError("RATE_LIMITED", `${count} calls of flush wait for an answer: await them before this call`);
}

export function closedError(): ReplayError {
  return new ReplayError("CLOSED", "this writer was closed: make a new one with remoteWriter()");
}

/** For a memory that says no more than that. */
export function closedThere(): ReplayError {
  return new ReplayError("CLOSED", "the other end has closed the writer: make a new one with remoteWriter()");
}

export function offlineError(): ReplayError {
  return new ReplayError("IO", 'there is no connection to the memory, and whileOffline is "fail": call again when writer.connected is true');
}
