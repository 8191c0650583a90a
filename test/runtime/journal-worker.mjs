/** A worker that does as it is told: "write" stays and holds the journal, "try" says why it cannot be opened, "read" reads it. */
import { opfs } from "../../dist/storage.js";
import { read, write } from "./journal-story.mjs";

self.onmessage = async ({ data }) => {
  try {
    // Many segments are written without waiting for anything.
    const directory = await opfs("runs/a", { spare: 60 });
    if (data === "write") {
      write(directory);
      // Of the same worker: it is taken over.
      postMessage(read(await opfs("/runs/a/")));
    } else if (data === "read") postMessage(read(directory));
    else postMessage("it was opened");
  } catch (error) {
    postMessage(data === "try" ? `${error.code} while another worker has it` : `${error.code}: ${error.stack}`);
  }
};
