/** Defines the outcome of a case. */
export interface Outcome {
  readonly name: string;
  readonly state: "passed" | "failed" | "skipped";
  /** The difference or the error of a failed case, or the reason why a case is skipped. */
  readonly why?: string;
  /** Whether the answer was compared with our own expected answer instead of the recorded one. */
  readonly departs?: boolean;
  /** The rule of the departure. */
  readonly rule?: string;
}
