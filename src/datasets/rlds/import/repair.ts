/** What can be kept of an episode with faults. */

import type { Repair } from "./import-report.ts";
import { FIRST, LAST, type NonFiniteLeaf, TERMINAL } from "./step-checks.ts";

/** Of a last step these have no meaning, so that zeros may stand for what is not finite. */
const OUTCOMES: readonly string[] = ["action", "reward", "discount"];

/** What is known of each step of an episode. */
export interface EpisodeFacts {
  readonly flags: Uint8Array;
  /** Steps of another form. */
  readonly misfits: ReadonlySet<number>;
  readonly nonFinite: ReadonlyMap<number, readonly NonFiniteLeaf[]>;
}

/** Steps from … to - 1 of the source's episode, and what is changed in them. */
export interface Segment {
  readonly from: number;
  readonly to: number;
  readonly setFirst: boolean;
  readonly setLast: boolean;
  /** Leaves of its last step that are filled with zeros. */
  readonly zeroed: readonly NonFiniteLeaf[];
}

/**
 * An episode ends where is_last or is_terminal says so, before an is_first, and before what has no remedy: a step of another form, or one with numbers that are
 * not finite. Where only its action, reward or discount is not finite, that step is the last one, and has zeros in their place. What follows such a place up to
 * the next beginning of an episode is left out: it would begin in mid-episode.
 * @param onRepair called with each repair and its step
 */
export function repairEpisode({ flags, misfits, nonFinite }: EpisodeFacts, onRepair: (repair: Repair, step: number, path?: string) => void): Segment[] {
  const segments: Segment[] = [];
  let from = -1;
  let isSkipping = false;
  const close = (to: number, zeroed: readonly NonFiniteLeaf[] = []) => {
    if (from < 0) return;
    const setFirst = !((flags[from] as number) & FIRST);
    const setLast = !((flags[to - 1] as number) & LAST);
    segments.push({ from, to, setFirst, setLast, zeroed });
    if (segments.length > 1) onRepair("splits", from);
    if (setFirst) onRepair("firstsSet", from);
    if (setLast) onRepair("lastsSet", to - 1);
    for (const { path } of zeroed) onRepair("zeroed", to - 1, path);
    from = -1;
  };
  flags.forEach((flag, i) => {
    const isEnd = (flag & (LAST | TERMINAL)) !== 0;
    if (flag & FIRST) {
      close(i);
      isSkipping = false;
    }
    if (isSkipping) {
      isSkipping = !isEnd;
      return;
    }
    const leaves = nonFinite.get(i) ?? [];
    const isLost = misfits.has(i) || leaves.some(({ keys }) => !OUTCOMES.includes(keys[0] as string));
    if (isLost) close(i);
    else if (from < 0) from = i;
    if (leaves.length > 0 || isLost) {
      if (isLost || !isEnd) onRepair("cuts", i);
      close(i + 1, leaves);
      isSkipping = !isEnd;
    } else if (isEnd) close(i + 1);
  });
  close(flags.length);
  return segments;
}
