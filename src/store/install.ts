/** Importing `reprise/storage` gives the main entry's class its `open`. */
import { Replay } from "../replay.ts";
import { open } from "./open.ts";

const opens: typeof open = open;

declare module "../replay.ts" {
  interface Installed {
    readonly open: typeof opens;
  }
}

Replay.open = open;
