/** Sets the task text of episodes. */
import { mustBe } from "../../../base/error.ts";
import { TASKS } from "../../formats/columns/task-names.ts";
import type { RldsDataset, RldsEpisode, StepSpec } from "../../model/dataset.ts";
import { leavesOf } from "../../model/leaves.ts";
import { StepColumns } from "../../model/step-columns.ts";
import { type ColumnDataset, mapColumns } from "./map-columns.ts";

interface Metadata {
  readonly [name: string]: StepSpec;
}

/** The place where the text is stored, which is a column of the steps or metadata of the episode. */
type TaskPlace = { readonly column: number } | { readonly name: string };

/**
 * Returns the same episodes with a new task, for example `withTask(data, "Pick up the cube")`. A function receives each episode and its index, and returns the
 * task, or undefined to keep the current task. The text replaces the leaf or metadata that `writeLeRobot` uses, which is the first of `task`,
 * `language_instruction` and `instruction` in a step, in its observation or in the metadata. If a dataset has none of them, it receives `task` as metadata.
 * Works lazily. Costs O(steps).
 * @throws TypeError, possibly during iteration, if a task is not a string
 */
export function withTask(rlds: RldsDataset<unknown>, task: string | ((episode: RldsEpisode<unknown>, index: number) => string | undefined)): ColumnDataset {
  if (typeof task !== "string" && typeof task !== "function") throw mustBe(TypeError, "task", "a string, or a function of (episode, index)", task);
  const taskOf = typeof task === "function" ? task : () => task;
  return mapColumns(rlds, {
    metadataSpec: (spec) => {
      const { stepSpec } = rlds;
      const place = stepSpec === undefined ? undefined : placeOf(stepSpec, spec);
      return place === undefined || "column" in place ? spec : { ...spec, [place.name]: { dtype: "string", shape: [] } };
    },
    begin(stepSpec, metadataSpec) {
      const place = placeOf(stepSpec, metadataSpec);
      return (episode, index) => {
        const text = taskOf(episode, index);
        if (text !== undefined && typeof text !== "string") throw mustBe(TypeError, `task of episode ${index}`, "a string", text);
        if ("name" in place) return { ...episode, [place.name]: text ?? episode[place.name] ?? "" };
        if (text === undefined) return episode;
        const { steps } = episode;
        const data = steps.parts.map((column, k) => (k === place.column ? new Array<string>(steps.length).fill(text) : column));
        return { ...episode, steps: new StepColumns(steps.spec, data, steps.length) };
      };
    },
  });
}

function placeOf(stepSpec: StepSpec, metadataSpec: Metadata): TaskPlace {
  const leaves = leavesOf(stepSpec);
  for (const path of TASKS) {
    const column = leaves.findIndex((leaf) => leaf.path === path && leaf.leaf.dtype === "string" && leaf.size === 1);
    if (column >= 0) return { column };
    const metadata = metadataSpec[path] as { readonly dtype?: unknown } | undefined;
    if (metadata?.dtype === "string") return { name: path };
  }
  return { name: "task" };
}
