/** The selected leaves of a reader whose files state the spec of their steps. */
import type { StepColumns } from "../../model/step-columns.ts";
import type { ReadEpisode, RldsReader } from "../reader.ts";
import { type SelectedSpec, selectSpec, selectSteps } from "./selected-spec.ts";
import type { Selection } from "./selection.ts";

/** @throws RangeError for a name that no leaf has, after the reader was closed */
export async function selectReader<S>(reader: RldsReader<S>, selection: Selection): Promise<RldsReader<S>> {
  if (selection.isEmpty) return reader;
  let selected: SelectedSpec;
  try {
    selected = selectSpec(reader.stepSpec, selection);
    selection.check();
  } catch (error) {
    await reader.close();
    throw error;
  }
  const { format, name, metadataSpec, episodes, steps, splits, split, about, unread, films } = reader;
  const from = async function* (all: AsyncIterable<ReadEpisode<S>>): AsyncGenerator<ReadEpisode<S>, void, undefined> {
    for await (const episode of all) yield { ...episode, steps: selectSteps<S>(episode.steps as StepColumns<unknown>, selected) };
  };
  return {
    ...{ format, name, stepSpec: selected.spec, metadataSpec, episodes, steps, splits, split, about },
    ...(unread && { unread }),
    ...(films && { films }),
    get losses() {
      return reader.losses;
    },
    [Symbol.asyncIterator]: () => from(reader),
    ...(reader.startingAt !== undefined && { startingAt: (episode: number) => from((reader.startingAt as NonNullable<typeof reader.startingAt>)(episode)) }),
    ...(reader.lengths !== undefined && { lengths: () => (reader.lengths as NonNullable<typeof reader.lengths>)() }),
    close: () => reader.close(),
  };
}
