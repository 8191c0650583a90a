/** Defines the interface of folders for writers. */

/** A file that is written sequentially. */
export interface SinkFile {
  /** Writes bytes. The array may be reused when the promise is fulfilled. */
  write(bytes: Uint8Array): Promise<void>;
  /** Fulfilled when everything is stored. */
  close(): Promise<void>;
}

/** A folder for writers. Implement it to write elsewhere, for example to a bucket. Paths have slashes. */
export interface SinkFolder {
  /** The name in messages. */
  readonly name: string;
  /** Returns the paths of the files directly in a subfolder; empty if it does not exist. "" is the sink itself. */
  list(folder: string): Promise<readonly string[]>;
  /** Reads a small file. Without this method, splits cannot be added to an existing dataset. */
  read?(path: string): Promise<Uint8Array>;
  /**
   * Acquires the lock of a path and returns the function that releases it; fails if it is held. Without this method, only writers of one program exclude each
   * other.
   */
  readonly lock?: (path: string) => Promise<() => Promise<void>>;
  /** Creates a file and its parent folders. No file of this name exists. */
  create(path: string): Promise<SinkFile>;
  /** Like `create`, but truncates an existing file, also through a link. Without this method, the file is removed and created again. */
  readonly truncate?: (path: string) => Promise<SinkFile>;
  /** Fails if `truncate` would fail because something other than a file has the name, which is not changed. */
  readonly checkFile?: (path: string) => Promise<void>;
  /** Renames within one folder. An existing file or link is replaced atomically; anything else is kept, and the call fails. */
  rename(from: string, to: string): Promise<void>;
  /** Removes a file. Does nothing if it does not exist. */
  remove(path: string): Promise<void>;
}
