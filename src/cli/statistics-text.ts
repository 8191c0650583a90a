/** Statistics of leaves as a table. */
export function statisticsText(leaves: unknown): string {
  return String(leaves);
}
