/** Defines validators for messages that arrive over a port, which any program may have sent. */
import { ReplayError } from "../base/error.ts";

/** Returns whether a value has the expected form. */
export type Validator = (value: unknown) => boolean;

export const isText: Validator = (value) => typeof value === "string";
export const isNumber: Validator = (value) => typeof value === "number";
export const isFlag: Validator = (value) => typeof value === "boolean";
export const isCount: Validator = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
export const isObject: Validator = (value) => typeof value === "object" && value !== null;
/** Also accepts buffers from other realms. */
export const isBuffer: Validator = (value) => Object.prototype.toString.call(value) === "[object ArrayBuffer]";

export function maybe(validator: Validator): Validator {
  return (value) => value === undefined || validator(value);
}

export function listOf(validator: Validator): Validator {
  return (value) => Array.isArray(value) && value.every(validator);
}

/** Returns a validator for objects whose fields pass these validators. Other fields are allowed. */
export function fieldsOf(validators: { readonly [name: string]: Validator }): Validator {
  const pairs = Object.entries(validators);
  return (value) => isObject(value) && pairs.every(([name, validator]) => validator((value as { readonly [name: string]: unknown })[name]));
}

/** Returns the kind of a message; undefined if the message has no kind. */
export function kindOfMessage(message: unknown): unknown {
  return (message as { readonly kind?: unknown } | null | undefined)?.kind;
}

/** Returns the error for a message that Reprise did not send. @param sender the function that sends such messages */
export function malformed(what: string, sender: string, cause?: unknown): ReplayError {
  const error = new ReplayError("CORRUPT", `the other end sent ${what} that ${sender} never sends. Do not let other code post to this port or socket`);
  if (cause !== undefined) error.cause = cause;
  return error;
}
