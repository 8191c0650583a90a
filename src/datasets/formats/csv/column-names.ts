/** Returns the names of a leaf's columns, such as `reward` for a single value, `observation/state.0` for a vector, or `observation/grid.0.1` for a matrix. */
export function columnNames(path: string, shape: readonly number[]): string[] {
  return shape.reduce<string[]>((names, length) => names.flatMap((name) => Array.from({ length }, (_, i) => `${name}.${i}`)), [path]);
}
