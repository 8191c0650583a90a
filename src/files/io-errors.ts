/** Makes errors for failed calls to a directory. The errors name the file and the operation. */
import { ReplayError } from "../base/error.ts";
import type { Directory } from "./directory.ts";

/** Explanations of the most common error codes and error names. */
const MEANING: { readonly [code: string]: string } = {
  ENOSPC: "no space is left",
  SQLITE_FULL: "no space is left",
  SQLITE_TOOBIG: "a row is too large",
  EDQUOT: "the quota is used up",
  QuotaExceededError: "the quota is used up",
  EIO: "the device failed",
  EACCES: "permission is denied",
  EPERM: "permission is denied",
  PermissionDenied: "permission is denied",
  NotCapable: "permission is denied",
  EROFS: "the file system is read only",
  ENOENT: "there is no such file or folder",
  ESPIPE: "it is a pipe or a device, not a file",
  EISDIR: "it is a folder, not a file",
  ENOTDIR: "a part of the path is a file, not a folder",
  EEXIST: "it is a file, not a folder",
  ESTALE: "it has changed since it was opened",
  EMFILE: "too many files are open",
};

/**
 * Makes a call to a directory. If the call fails, throws a ReplayError IO, but rethrows an existing ReplayError unchanged.
 * @param action the operation, such as "writing" @param file the name of the file; empty for the directory itself
 */
export function withIoErrors<T>(action: string, directory: Directory, file: string, call: () => T): T {
  try {
    return call();
  } catch (cause) {
    if (cause instanceof ReplayError) throw cause;
    throw ioError(`${action} ${directory.name}${file && `/${file}`} failed: ${reasonOf(cause)}`, cause);
  }
}

export function ioError(message: string, cause: unknown): ReplayError {
  const error = new ReplayError("IO", message);
  error.cause = cause;
  return error;
}

/**
 * Returns the reason for a failed call: the explanation of a known code followed by the code, or else the message of the error. If the runtime denied the
 * permission, the reason may also include a remedy.
 */
export function reasonOf(cause: unknown): string {
  const { code, name, message = String(cause) } = (cause ?? {}) as { code?: unknown; name?: unknown; message?: string };
  const knownCode = [code, name].find((word) => typeof word === "string" && Object.hasOwn(MEANING, word)) as string | undefined;
  if (code === "ERR_ACCESS_DENIED" && message.includes("fsync"))
    return "Node's permission model disables fsync, which durability requires. Run Node without --permission";
  const remedy = knownCode === "PermissionDenied" || knownCode === "NotCapable" ? ". Start Deno with --allow-read and --allow-write" : "";
  return knownCode === undefined ? message : `${MEANING[knownCode]} (${knownCode})${remedy}`;
}
