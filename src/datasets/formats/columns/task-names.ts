/** Lists the possible paths of the task text in a step or in metadata. The first nonempty text is used. */
export const TASKS: readonly string[] = [
  "task",
  "language_instruction",
  "observation/task",
  "observation/language_instruction",
  "instruction",
  "observation/instruction",
];
