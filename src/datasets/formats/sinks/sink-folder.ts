/** What writers need of a place. */

/** A file that is written from its beginning to its end. */
export interface SinkFile {
  /** The bytes may change once the promise is fulfilled. */
  write(bytes: Uint8Array): Promise<void>;
  /** Everything written is there when it is fulfilled. */
  close(): Promise<void>;
}

/** A folder, as writers need it; whoever writes elsewhere (a bucket, say) makes one. Paths have slashes. */
export interface SinkFolder {
  /** As messages call it. */
  readonly name: string;
  /** The paths of the files in a folder of it, without those in folders further below; none where it is not there. "" is the sink itself. */
  list(folder: string): Promise<readonly string[]>;
  /** The bytes of a small file. Where it is left out, no split is added to a dataset that is there. */
  read?(path: string): Promise<Uint8Array>;
  /** So that no two write one dataset: fails where the lock of this path is held, and gives what lets go of it. Where it is left out, writers of one program know of each other. */
  readonly lock?: (path: string) => Promise<() => Promise<void>>;
  /** Makes the folders on the way. No file of the name is there. */
  create(path: string): Promise<SinkFile>;
  /** Like `create`, but a file that is there is emptied and written, also through a link. Where it is left out, the file is removed and another one created. */
  readonly truncate?: (path: string) => Promise<SinkFile>;
  /** Fails where `truncate` would: something that is no file has the name, which stays. */
  readonly checkFile?: (path: string) => Promise<void>;
  /** Within one folder; a file or link that is there is replaced in one step, and whatever else is there stays: then it fails. */
  rename(from: string, to: string): Promise<void>;
  /** Does nothing where there is no such file. */
  remove(path: string): Promise<void>;
}
