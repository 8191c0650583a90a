/** The picture of the learning agent in the terminal. */
import { bars, spread } from "../live.js";

export function picture({ seed, envSteps, meanReturn, learningSeconds, setUpSeconds, replayShare, bytes }, { curve, experience, returns }, outcome) {
  const { size, maxSize, samples } = experience.table.stats();
  return [
    `CartPole-v1   ${outcome}: seed ${seed}, step ${envSteps}, ${learningSeconds.toFixed(1)} s (set-up ${setUpSeconds.toFixed(1)} s)`,
    `  return      ${bars(returns.slice(-50))} ${returns.at(-1) ?? "–"}`,
    `  greedy      ${bars(curve, 500)} ${meanReturn ?? "–"}, mean of 100 episodes`,
    `  memory      ${size} of ${maxSize} transitions, ${(bytes / 2 ** 20).toFixed(1)} MiB`,
    `  priorities  ${spread(experience.priorities ?? [], 10)} from 0 to 10`,
    `  replay      ${Math.round(samples / learningSeconds)} samples/s in ${(100 * replayShare).toFixed(1)} % of the time`,
  ];
}
