/** Shows the state of a running program: on a terminal as lines that stay in place, elsewhere as one line every few seconds. */
import logUpdate from "log-update";

const { isTTY } = process.stdout;
let shown = 0;

/** Shows the lines that a function returns if it is time to, and the last ones always. */
export function live(lines, last) {
  if (!last && performance.now() - shown < (isTTY ? 80 : 3000)) return;
  shown = performance.now();
  const text = isTTY ? lines() : lines().map((line) => line.trim().replace(/ +/g, " "));
  if (isTTY) logUpdate(text.join("\n"));
  else console.log(text.join(" · "));
  if (last) logUpdate.done();
}

/** A bar for each number, between 0 and the maximum. */
export function bars(numbers, max = Math.max(1, ...numbers)) {
  return numbers.map((number) => "▁▂▃▄▅▆▇█"[Math.min(Math.floor((8 * number) / max), 7)]).join("");
}

/** The distribution of the numbers: a bar for each sixteenth of the range from 0 to the maximum. */
export function spread(numbers, max) {
  const counts = new Array(16).fill(0);
  for (const number of numbers) counts[Math.min(Math.floor((16 * number) / max), 15)]++;
  return bars(counts);
}
