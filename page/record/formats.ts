/** The formats in which the room saves datasets. */

export const NAME = "docking";

export const FORMATS = {
  lerobot: { title: "LeRobot 3.0, film", opens: 'lerobot opens it: LeRobotDataset("docking", root="docking-lerobot").' },
  "lerobot-images": {
    title: "LeRobot 3.0, images",
    opens: 'lerobot opens it: LeRobotDataset("docking", root="docking-lerobot-images"). Each picture is as it was, pixel by pixel.',
  },
  minari: { title: "Minari", opens: 'minari opens it: MINARI_DATASETS_PATH is the path of docking-minari, then minari.load_dataset("docking-v0").' },
  tfds: { title: "RLDS (TFDS)", opens: 'tensorflow_datasets opens it: tfds.builder_from_directory("docking-tfds/docking/1.0.0").' },
} as const;

export type Format = keyof typeof FORMATS;
