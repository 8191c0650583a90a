/** What the learning looks like: on a terminal a picture that stays in place, elsewhere a line every few seconds. */
import logUpdate from "log-update";

const { isTTY } = process.stdout;
const bars = (numbers, most = Math.max(1, ...numbers)) => numbers.map((number) => "▁▂▃▄▅▆▇█"[Math.min(Math.floor((8 * number) / most), 7)]).join("");
let shown = 0;

export function show(figures, { curve, experience, returns }, outcome) {
  if (outcome === "Learning" && performance.now() - shown < (isTTY ? 80 : 3000)) return;
  shown = performance.now();
  const { seed, envSteps, meanReturn, learningSeconds, setUpSeconds, replayShare, bytes } = figures();
  const { size, maxSize, samples } = experience.table.stats();
  const bins = Array.from(experience.batch.info.priorities, (priority) => Math.min(Math.floor(1.6 * priority), 15));
  const spread = Array.from({ length: 16 }, (_, bin) => bins.filter((one) => one === bin).length);
  const lines = [
    `CartPole-v1   ${outcome}: seed ${seed}, step ${envSteps}, ${learningSeconds.toFixed(1)} s (set-up ${setUpSeconds.toFixed(1)} s)`,
    `  return      ${bars(returns.slice(-50))} ${returns.at(-1) ?? "–"}`,
    `  greedy      ${bars(curve, 500)} ${meanReturn ?? "–"}, the mean of 20 episodes`,
    `  memory      ${size} of ${maxSize} transitions, ${(bytes / 2 ** 20).toFixed(1)} MiB`,
    `  priorities  ${bars(spread)} from 0 to 10`,
    `  replay      ${Math.round(samples / learningSeconds)} samples/s in ${(100 * replayShare).toFixed(1)} % of the time`,
  ];
  if (isTTY) logUpdate(lines.join("\n"));
  else console.log(lines.map((line) => line.trim().replace(/ +/g, " ")).join(" · "));
  if (outcome !== "Learning") logUpdate.done();
}
