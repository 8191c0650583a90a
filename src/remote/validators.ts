/** Validators for messages of a port: anybody may have sent them. */
import { ReplayError } from "../base/error.ts";

/** Whether a value has the expected form. */
export type Validator = (value: unknown) => boolean;

export const isText: Validator = (value) => typeof value === "string";
export const isNumber: Validator = (value) => typeof value === "number";
export const isFlag: Validator = (value) => typeof value === "boolean";
export const isCount: Validator = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
export const isObject: Validator = (value) => typeof value === "object" && value !== null;
/** Also of another realm. */
export const isBuffer: Validator = (value) => Object.prototype.toString.call(value) === "[object ArrayBuffer]";

export function maybe(validator: Validator): Validator {
  return (value) => value === undefined || validator(value);
}

export function listOf(validator: Validator): Validator {
  return (value) => Array.isArray(value) && value.every(validator);
}

/** An object with fields of these forms, and any others. */
export function fieldsOf(validators: { readonly [name: string]: Validator }): Validator {
  const pairs = Object.entries(validators);
  return (value) => isObject(value) && pairs.every(([name, validator]) => validator((value as { readonly [name: string]: unknown })[name]));
}

/** The kind of a message; undefined of what has none. */
export function kindOfMessage(message: unknown): unknown {
  return (message as { readonly kind?: unknown } | null | undefined)?.kind;
}

/** The error for a message that is none of Reprise's. @param sender the function that sends such messages */
export function malformed(what: string, sender: string, cause?: unknown): ReplayError {
  const error = new ReplayError("CORRUPT", `${what} from the other end has not the form of ${sender}. Let nothing else post to this port, or socket`);
  if (cause !== undefined) error.cause = cause;
  return error;
}
