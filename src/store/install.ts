/** Importing `reprise/storage` gives the main entry's class its `open`. */
import { Replay } from "../index.ts";
import { open } from "./open.ts";

const opens: typeof open = open;

declare module "../replay.ts" {
  namespace Replay {
    /** A Replay that survives: see `open` of reprise/storage. */
    export let open: typeof opens;
  }
}

Replay.open = open;
