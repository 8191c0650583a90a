/** Defines rules for answers of a real server that differ from those of the in-process client. Each rule has a reason. Any other difference is a failure. */
import type { Op } from "../conformance/case.ts";

export interface Asked {
  readonly ops: readonly Op[];
  readonly i: number;
  /** Repeats the op and returns the new difference. */
  readonly again: () => Promise<string | undefined>;
}

export interface WireRule {
  readonly name: string;
  readonly why: string;
  readonly allows: (asked: Asked) => boolean | Promise<boolean>;
}

/** The ops that do not change anything. */
const LOOKS = ["size", "info"];
const LATER_MS = 10_000;

export const WIRE_RULES: readonly WireRule[] = [
  {
    name: "closed, and on its way",
    why: "close() does not wait for the server: what the writer had made is in the tables a little later",
    allows: async ({ ops, i, again }) => {
      if (!LOOKS.includes((ops[i] as Op)[0]) || !ops.slice(0, i).some(([kind]) => kind === "close")) return false;
      for (const until = performance.now() + LATER_MS; performance.now() < until; ) {
        if ((await again()) === undefined) return true;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      return false;
    },
  },
];
