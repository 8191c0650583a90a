/** Defines the interface of the folders to which writers write. */

/** A file that a writer writes sequentially. */
export interface SinkFile {
  /** Writes bytes. The array may be reused when the promise is fulfilled. */
  write(bytes: Uint8Array): Promise<void>;
  /** Closes the file. The promise is fulfilled when everything is stored. */
  close(): Promise<void>;
}

/** A folder to which writers write. Implement this interface to write elsewhere, for example to a bucket. Paths have slashes. */
export interface SinkFolder {
  /** The name of the folder in messages. */
  readonly name: string;
  /** Returns the paths of the files directly in a subfolder. The list is empty if the subfolder does not exist. "" stands for the sink itself. */
  list(folder: string): Promise<readonly string[]>;
  /** Reads a small file. If this method is missing, splits cannot be added to an existing dataset. */
  read?(path: string): Promise<Uint8Array>;
  /**
   * Acquires the lock of a path and returns the function that releases the lock. Fails if the lock is held. If this method is missing, only writers in the same
   * program exclude each other.
   */
  readonly lock?: (path: string) => Promise<() => Promise<void>>;
  /** Creates a file and its parent folders. Writers call this method only if no file of this name exists. */
  create(path: string): Promise<SinkFile>;
  /**
   * Creates a file like `create`, but truncates an existing file, even through a link. If this method is missing, writers remove the file and create it again.
   */
  readonly truncate?: (path: string) => Promise<SinkFile>;
  /** Fails if `truncate` would fail because something other than a file has the name. Changes nothing. */
  readonly checkFile?: (path: string) => Promise<void>;
  /** Renames a file within one folder. Replaces an existing file or link atomically. If anything else has the new name, the call fails and changes nothing. */
  rename(from: string, to: string): Promise<void>;
  /** Removes a file. No effect if the file does not exist. */
  remove(path: string): Promise<void>;
}
