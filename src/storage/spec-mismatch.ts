/** What is said where a saved memory and its program have other specs. */
import { ReplayError } from "../base/error.ts";
import { specDifference } from "../schema/difference.ts";
import type { Spec } from "../schema/spec.ts";

/** The page that messages name if a saved memory and its program differ. */
export const MIGRATION_PAGE = "docs/migrate/saved-memory.md";

/** @param subject what the spec is called · @param place where the existing one is, and the way out @throws ReplayError SPEC_MISMATCH naming the first leaf that differs */
export function checkSpec(subject: string, requested: Spec, existing: Spec, place: string): void {
  const difference = specDifference(requested, existing);
  if (difference === undefined) return;
  const rule = `${difference.existing ?? "left out"} as in ${place}`;
  throw new ReplayError("SPEC_MISMATCH", `${[subject, ...difference.keys].join(".")} must be ${rule}, got ${difference.requested ?? "nothing"}`);
}
