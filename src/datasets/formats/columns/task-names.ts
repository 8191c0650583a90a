/** Lists the paths of task texts in a step or in metadata. The first nonempty text is used. */
export const TASKS: readonly string[] = [
  "task",
  "language_instruction",
  "observation/task",
  "observation/language_instruction",
  "instruction",
  "observation/instruction",
];
