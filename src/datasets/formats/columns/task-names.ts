/** Lists the paths at which the text of a task may be stored, in a step or in metadata. The first path with a nonempty text is used. */
export const TASKS: readonly string[] = [
  "task",
  "language_instruction",
  "observation/task",
  "observation/language_instruction",
  "instruction",
  "observation/instruction",
];
