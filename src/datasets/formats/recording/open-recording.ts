/** Opens recordings of reprise/record as datasets. */
import type { RldsStep } from "../../model/dataset.ts";
import type { Recording, RecordingOptions, RecordingSource } from "./recording.ts";

/**
 * Opens a recording as an RLDS dataset. The metadata of an episode are its `task`, its `success`, `finished` (false if a crash cut the episode off) and its
 * `final_step`. `final_step` is "observation" if the last step was passed as `final`, otherwise "transition". `about` contains `fps`, the `tasks`, and the
 * metadata that was passed to the recorder.
 *
 * Steps contain the recorded leaves and the RLDS flags. Frames are pixels. A recording can be opened while it is being written. The reader then shows the data
 * that had been flushed when it was opened. Opening reads only the beginning of each file, and the whole newest file. Keeps one episode in memory. If the
 * source is asynchronous (a URL, a Blob in a page), also keeps one file.
 * @throws RldsError NOT_FOUND if there is no recording
 * @throws RldsError EMPTY if nothing was recorded yet
 * @throws RldsError UNSUPPORTED if the source is not a folder with exactly one recording
 * @throws RldsError CORRUPT if a file is damaged. The error includes the file and the byte
 * @throws RldsError SPEC_MISMATCH if the directory contains something else
 */
export async function openRecording<S = RldsStep>(from: RecordingSource, options: RecordingOptions = {}): Promise<Recording<S>> {
  // A recorder needs no reader, so importing reprise/record does not load it.
  const { readRecording } = await import("./read-recording.ts");
  return readRecording<S>(from, options);
}
