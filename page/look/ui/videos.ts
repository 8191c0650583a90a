/** Shows videos to which steps refer, in the browser's own player, synchronized with the step. */
import { h } from "../../parts/element.ts";
import type { VideoLeaves } from "../model/leaf-kinds.ts";
import type { StepView } from "./player.ts";

/** The maximum number of seconds by which a playing video may differ from its step before the video is adjusted. */
const DRIFT = 0.25;

/** @param addressOf returns undefined if the dataset has no such file @param speed the speed relative to the recording */
export function videos(leaves: readonly VideoLeaves[], addressOf: (path: string) => string | undefined, speed: () => number, signal: AbortSignal): StepView[] {
  return leaves.map((leaf) => videoOf(leaf, addressOf, speed, signal));
}

function videoOf({ path, files, times }: VideoLeaves, addressOf: (path: string) => string | undefined, speed: () => number, signal: AbortSignal): StepView {
  const video = h("video", { muted: true, playsinline: true, preload: "auto", "aria-label": `${path} at this step` });
  video.muted = true;
  const fault = h("p", { class: "note", hidden: true });
  let file = "";
  const say = (text: string) => {
    fault.textContent = text;
    fault.hidden = false;
    video.hidden = true;
  };
  video.addEventListener("error", () => say(`This browser cannot decode ${file}.`));
  signal.addEventListener("abort", () => {
    video.pause();
    video.removeAttribute("src");
    video.load();
  });
  const load = (name: string) => {
    file = name;
    const address = addressOf(name);
    if (address === undefined) return say(`The dataset has no file ${name}.`);
    fault.hidden = true;
    video.hidden = false;
    video.src = address;
  };
  return {
    element: h("figure", {}, video, fault, h("figcaption", {}, path)),
    show(step, playing) {
      const name = files[step] as string;
      if (name !== file) load(name);
      const time = times[step] as number;
      video.playbackRate = Math.min(4, Math.max(0.25, speed()));
      // A frame is shown from its timestamp on, so a time slightly after the frame's start is inside the frame.
      if (!playing || Math.abs(video.currentTime - time) > DRIFT) video.currentTime = time + 0.001;
      if (playing && video.paused) video.play().catch(() => undefined);
      if (!playing && !video.paused) video.pause();
    },
  };
}
