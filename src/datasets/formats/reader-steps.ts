/** Wraps readers to change their episodes, for example to select or compute leaves, or to extend errors. */
import type { StepSpec } from "../model/dataset.ts";
import type { StepColumns } from "../model/step-columns.ts";
import { stepsWithAbsentFields, withAbsentFields } from "./columns/absent-fields.ts";
import { withSalvageRemedy } from "./damage.ts";
import type { ReadEpisode, RldsReader } from "./reader.ts";

/** Returns the reader with changed steps. All other properties are unchanged. @param change returns the same number of steps */
export function changeSteps<S>(reader: RldsReader<S>, stepSpec: StepSpec, change: (episode: ReadEpisode<S>) => StepColumns<S>): RldsReader<S> {
  return changeEpisodes(reader, stepSpec, async function* (all) {
    for await (const episode of all) yield { ...episode, steps: change(episode) };
  });
}

/** Returns the reader with a reward and a discount, which its files may lack. */
export function addAbsentFields<S>(reader: RldsReader<S>): RldsReader<S> {
  const spec = withAbsentFields(reader.stepSpec);
  return spec === reader.stepSpec ? reader : changeSteps(reader, spec, ({ steps, final_step }) => stepsWithAbsentFields(steps, spec, final_step));
}

/**
 * Returns the reader with errors that mention the option `salvage`, unless the option is set. Used if a dataset has several parts, because the other parts can
 * still be read.
 */
export function nameSalvage<S>(reader: RldsReader<S>): RldsReader<S> {
  if (reader.losses !== undefined || reader.episodes === 1) return reader;
  return changeEpisodes(reader, reader.stepSpec, async function* (all) {
    try {
      yield* all;
    } catch (error) {
      throw withSalvageRemedy(error);
    }
  });
}

type Change<S> = (all: AsyncIterable<ReadEpisode<S>>) => AsyncGenerator<ReadEpisode<S>, void, undefined>;

function changeEpisodes<S>(reader: RldsReader<S>, stepSpec: StepSpec, change: Change<S>): RldsReader<S> {
  const { format, name, metadataSpec, episodes, steps, splits, split, about, unread, films, startingAt, lengths } = reader;
  return {
    ...{ format, name, stepSpec, metadataSpec, episodes, steps, splits, split, about },
    ...(unread && { unread }),
    ...(films && { films }),
    get losses() {
      return reader.losses;
    },
    [Symbol.asyncIterator]: () => change(reader),
    ...(startingAt !== undefined && { startingAt: (episode: number) => change(startingAt.call(reader, episode)) }),
    ...(lengths !== undefined && { lengths: () => lengths.call(reader) }),
    close: () => reader.close(),
  };
}
