/** The address at which a debug build stores its failed assertion: line, column, and the address of the message. */
export const TRAP_AT: usize = 256;

/** Replaces `abort`, which would be an import. The release builds omit this function. */
export function trapAbort(message: string | null, _file: string | null, line: u32, column: u32): void {
  store<u32>(TRAP_AT, line);
  store<u32>(TRAP_AT, column, 4);
  store<usize>(TRAP_AT, changetype<usize>(message), 8);
  unreachable();
}
