/** What becomes of evicted steps on the disk. */
import { mustBe } from "../error.ts";

/** "capacity": their space is given back · "all": everything is kept. */
export type Retain = "capacity" | "all";

export function retainOf(value: Retain): Retain {
  if (value === "capacity" || value === "all") return value;
  throw mustBe(typeof value === "string" ? RangeError : TypeError, "retain", '"capacity" or "all"', value);
}
