/** Executes commands in a worker: "write" holds the journal open, "try" reports why it cannot be opened, "read" reads it. */
import { opfs } from "../../dist/storage.js";
import { read, write } from "./journal-story.mjs";
import { migrate, reopen } from "./migrate-story.mjs";
import { open } from "./open-story.mjs";

self.onmessage = async ({ data }) => {
  try {
    // Many segments are written without waiting, so the directory needs many spare files.
    const directory = await opfs("runs/a", { spare: 60 });
    if (data === "write") {
      write(directory);
      // Opening a journal again in the same worker takes it over.
      const replays = await opfs("runs/replay", { spare: 60 });
      postMessage([read(await opfs("/runs/a/")), await open(replays), await migrate(replays)].join("\n"));
    } else if (data === "read") postMessage([read(directory), await reopen(await opfs("runs/replay", { spare: 60 }))].join("\n"));
    else postMessage("it was opened");
  } catch (error) {
    postMessage(data === "try" ? `${error.code} while another worker has it` : `${error.code}: ${error.stack}`);
  }
};
