/** Defines the outcome of a case. */
export interface Outcome {
  readonly name: string;
  readonly state: "passed" | "failed" | "skipped";
  /** The difference for a failed case, or the missing feature for a skipped case. */
  readonly why?: string;
  /** Whether the answer was compared with our own expected answer instead of the recorded one. */
  readonly departs?: boolean;
  /** The rule of the departure. */
  readonly rule?: string;
}
