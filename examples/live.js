/** What a program shows while it runs: on a terminal lines that stay in place, elsewhere one line every few seconds. */
import logUpdate from "log-update";

const { isTTY } = process.stdout;
let shown = 0;

/** Shows the lines that a function gives, if it is time to; the last ones at any time. */
export function live(lines, last) {
  if (!last && performance.now() - shown < (isTTY ? 80 : 3000)) return;
  shown = performance.now();
  const text = isTTY ? lines() : lines().map((line) => line.trim().replace(/ +/g, " "));
  if (isTTY) logUpdate(text.join("\n"));
  else console.log(text.join(" · "));
  if (last) logUpdate.done();
}

/** A bar for each number, between 0 and the most. */
export function bars(numbers, most = Math.max(1, ...numbers)) {
  return numbers.map((number) => "▁▂▃▄▅▆▇█"[Math.min(Math.floor((8 * number) / most), 7)]).join("");
}

/** How the numbers are spread: a bar for each sixteenth of what is between 0 and the most. */
export function spread(numbers, most) {
  const counts = new Array(16).fill(0);
  for (const number of numbers) counts[Math.min(Math.floor((16 * number) / most), 15)]++;
  return bars(counts);
}
