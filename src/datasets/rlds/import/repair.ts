/** Decides which parts of a faulty episode can be kept. */

import type { Repair } from "./import-report.ts";
import { FIRST, LAST, type NonFiniteLeaf, TERMINAL } from "./step-checks.ts";

/** The fields that have no meaning in a final observation. Zeros can replace values in them that are not finite. */
const OUTCOMES: readonly string[] = ["action", "reward", "discount"];

/** The facts about each step of an episode. */
export interface EpisodeFacts {
  readonly flags: Uint8Array;
  /** The indices of the steps that have a different form. */
  readonly misfits: ReadonlySet<number>;
  readonly nonFinite: ReadonlyMap<number, readonly NonFiniteLeaf[]>;
}

/** The steps of the source episode from index `from` up to, but not including, `to`, and the changes to them. */
export interface Segment {
  readonly from: number;
  readonly to: number;
  readonly setFirst: boolean;
  readonly setLast: boolean;
  /** The leaves of the last step that are filled with zeros. */
  readonly zeroed: readonly NonFiniteLeaf[];
}

/**
 * Splits an episode into valid segments. A segment ends at a step with `is_last` or `is_terminal`, before a step with `is_first`, and before a step that cannot
 * be repaired because it does not match the spec or has numbers that are not finite. If only the action, reward or discount of a step is not finite, that step
 * becomes the last step, with zeros in place of these values. The steps after a faulty step are left out up to the next beginning of an episode, because a
 * segment of these steps would start in the middle of an episode.
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
