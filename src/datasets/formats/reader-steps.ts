/** A reader whose steps are others than the files have: some are left out, some are made. */
import type { StepSpec } from "../model/dataset.ts";
import type { StepColumns } from "../model/step-columns.ts";
import { stepsWithAbsentFields, withAbsentFields } from "./columns/absent-fields.ts";
import type { ReadEpisode, RldsReader } from "./reader.ts";

/** The reader with other steps; all else stays. @param change makes them, of the same number */
export function changeSteps<S>(reader: RldsReader<S>, stepSpec: StepSpec, change: (episode: ReadEpisode<S>) => StepColumns<S>): RldsReader<S> {
  const { format, name, metadataSpec, episodes, steps, splits, split, about, unread, films, startingAt, lengths } = reader;
  const from = async function* (all: AsyncIterable<ReadEpisode<S>>): AsyncGenerator<ReadEpisode<S>, void, undefined> {
    for await (const episode of all) yield { ...episode, steps: change(episode) };
  };
  return {
    ...{ format, name, stepSpec, metadataSpec, episodes, steps, splits, split, about },
    ...(unread && { unread }),
    ...(films && { films }),
    get losses() {
      return reader.losses;
    },
    [Symbol.asyncIterator]: () => from(reader),
    ...(startingAt !== undefined && { startingAt: (episode: number) => from(startingAt.call(reader, episode)) }),
    ...(lengths !== undefined && { lengths: () => lengths.call(reader) }),
    close: () => reader.close(),
  };
}

/** The reader with a reward and a discount, which its files may not have. */
export function addAbsentFields<S>(reader: RldsReader<S>): RldsReader<S> {
  const spec = withAbsentFields(reader.stepSpec);
  return spec === reader.stepSpec ? reader : changeSteps(reader, spec, ({ steps, final_step }) => stepsWithAbsentFields(steps, spec, final_step));
}
