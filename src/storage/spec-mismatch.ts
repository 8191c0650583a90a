/** Makes the errors for a saved memory whose spec differs from the program's spec. */
import { ReplayError } from "../base/error.ts";
import { specDifference } from "../schema/difference.ts";
import type { Spec } from "../schema/spec.ts";

/** The page to which messages refer if saved data does not match the program's spec or tables. */
export const MIGRATION_PAGE = "docs/migrate/saved-memory.md";

/**
 * @param subject the name of the spec in messages @param place the location of the existing spec @throws ReplayError SPEC_MISMATCH with the first difference
 */
export function checkSpec(subject: string, requested: Spec, existing: Spec, place: string, remedy: string): void {
  const difference = specDifference(requested, existing);
  if (difference === undefined) return;
  const rule = `${difference.existing ?? "omitted"}, as in ${place}`;
  throw new ReplayError("SPEC_MISMATCH", `${[subject, ...difference.keys].join(".")} must be ${rule}, got ${difference.requested ?? "nothing"}. ${remedy}`);
}
