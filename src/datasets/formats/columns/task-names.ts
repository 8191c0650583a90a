/** The paths of texts that say what is to be done, in a step or in metadata: the first one that is not empty does. */
export const TASKS: readonly string[] = [
  "task",
  "language_instruction",
  "observation/task",
  "observation/language_instruction",
  "instruction",
  "observation/instruction",
];
