/** The outcome of a case. */
export interface Outcome {
  readonly name: string;
  readonly state: "passed" | "failed" | "skipped";
  /** The difference of a failure, or the missing feature of a skipped case. */
  readonly why?: string;
  /** Whether it was compared with our own answer instead of the recorded one. */
  readonly departs?: boolean;
  /** The rule for that. */
  readonly rule?: string;
}
