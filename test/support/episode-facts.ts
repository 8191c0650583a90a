/** Computes facts about an episode that no conversion may change: its number of actions, its rewards, and how it ended. */
import type { Each, RldsEpisode, RldsStep } from "../../src/datasets/rlds/index.ts";

export interface EpisodeFacts {
  /** The number of steps that are not final observations. */
  readonly actions: number;
  readonly rewards: readonly number[];
  readonly return: number;
  readonly terminal: boolean;
}

/** Computes the facts step by step, independently of the library. */
export async function factsOf(dataset: Each<RldsEpisode<unknown>>): Promise<EpisodeFacts[]> {
  const facts: EpisodeFacts[] = [];
  for await (const { steps, final_step } of dataset as AsyncIterable<RldsEpisode<RldsStep>>) {
    const all: RldsStep[] = [];
    for await (const step of steps as AsyncIterable<RldsStep>) all.push(step);
    const last = all.at(-1);
    const hasFinal = final_step === "observation" || (final_step !== "transition" && last?.is_last === true);
    const rewards = (hasFinal ? all.slice(0, -1) : all).map(({ reward }) => Number(reward));
    facts.push({
      actions: rewards.length,
      rewards,
      return: rewards.reduce((sum, reward) => sum + reward, 0),
      terminal: last?.is_terminal === true,
    });
  }
  return facts;
}
