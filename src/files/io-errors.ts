/** Errors of calls to a directory: they name the file and the operation. */
import { ReplayError } from "../base/error.ts";
import type { Directory } from "./directory.ts";

/** What the commonest codes of systems mean. */
const MEANING: { readonly [code: string]: string } = {
  ENOSPC: "no space is left",
  SQLITE_FULL: "no space is left",
  SQLITE_TOOBIG: "a row is too large",
  EDQUOT: "the quota is used up",
  QuotaExceededError: "the quota is used up",
  EIO: "the device failed",
  EACCES: "it is not allowed",
  EPERM: "it is not allowed",
  PermissionDenied: "it is not allowed: start Deno with --allow-read and --allow-write",
  NotCapable: "it is not allowed: start Deno with --allow-read and --allow-write",
  EROFS: "the file system is read only",
  ENOENT: "there is no such file or folder",
  ESPIPE: "a pipe or a device is in the place of the file",
  EISDIR: "a folder is in the place of the file",
  ENOTDIR: "a file is in the place of a folder",
  EEXIST: "a file is in the place of the folder",
  ESTALE: "it is no more what it was when it was opened",
  EMFILE: "too many files are open",
};

/** @param action such as "writing" @param file its name; none is the directory itself */
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

/** What a cause means, and the code that says so. */
export function reasonOf(cause: unknown): string {
  const { code, name, message = String(cause) } = (cause ?? {}) as { code?: unknown; name?: unknown; message?: string };
  const knownCode = [code, name].find((word) => typeof word === "string" && Object.hasOwn(MEANING, word)) as string | undefined;
  if (code === "ERR_ACCESS_DENIED" && message.includes("fsync"))
    return "Node's permission model disables fsync, without which nothing is on the disk for sure: run Node without --permission";
  return knownCode === undefined ? message : `${MEANING[knownCode]} (${knownCode})`;
}
