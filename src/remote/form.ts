/** The form of what comes over a port: anybody may have sent it, so it is looked at before it is believed. */
import { ReplayError } from "../base/error.ts";

/** Whether a value is of a form. */
export type Form = (value: unknown) => boolean;

export const isText: Form = (value) => typeof value === "string";
export const isNumber: Form = (value) => typeof value === "number";
export const isFlag: Form = (value) => typeof value === "boolean";
export const isCount: Form = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
/** Also of another realm. */
export const isBuffer: Form = (value) => Object.prototype.toString.call(value) === "[object ArrayBuffer]";

export function maybe(form: Form): Form {
  return (value) => value === undefined || form(value);
}

export function listOf(form: Form): Form {
  return (value) => Array.isArray(value) && value.every(form);
}

/** An object with fields of these forms, and any others. */
export function fieldsOf(forms: { readonly [name: string]: Form }): Form {
  const pairs = Object.entries(forms);
  return (value) => typeof value === "object" && value !== null && pairs.every(([name, form]) => form((value as { readonly [name: string]: unknown })[name]));
}

/** The kind of a message; undefined of what has none. */
export function kindIn(message: unknown): unknown {
  return (message as { readonly kind?: unknown } | null | undefined)?.kind;
}

/** The error for a message that is none of Reprise's. @param who sends such messages */
export function malformed(what: string, who: string, cause?: unknown): ReplayError {
  const error = new ReplayError("CORRUPT", `${what} that came over the port has not the form of ${who}. Let nothing else post to this port`);
  if (cause !== undefined) error.cause = cause;
  return error;
}
