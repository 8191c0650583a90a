/** The names of a leaf's columns: `reward`, `observation/state.0`, of a matrix `observation/grid.0.1`. */
export function columnNames(path: string, shape: readonly number[]): string[] {
  return shape.reduce<string[]>((names, length) => names.flatMap((name) => Array.from({ length }, (_, i) => `${name}.${i}`)), [path]);
}
