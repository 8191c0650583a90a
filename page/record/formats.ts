/** The formats in which the room saves datasets. */

export const NAME = "docking";

export const FORMATS = {
  tfds: { title: "RLDS (TFDS)", opens: 'tensorflow_datasets opens it: tfds.builder_from_directory("docking-tfds/docking/1.0.0").' },
} as const;

export type Format = keyof typeof FORMATS;
