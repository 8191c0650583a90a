/** What became of a case. */
export interface Outcome {
  readonly name: string;
  readonly state: "passed" | "failed" | "skipped";
  /** Of a failure the difference, of what is skipped the feature that is not there. */
  readonly why?: string;
  /** Whether it was held to our own answer instead of the recorded one. */
  readonly departs?: boolean;
  /** The rule by which it was. */
  readonly rule?: string;
}
