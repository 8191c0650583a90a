/** Lists the formats in which the room saves datasets. */

export const NAME = "docking";

export const FORMATS = {
  lerobot: { title: "LeRobot 3.0, film", opens: 'Open it with lerobot: LeRobotDataset("docking", root="docking-lerobot").' },
  "lerobot-images": {
    title: "LeRobot 3.0, images",
    opens: 'Open it with lerobot: LeRobotDataset("docking", root="docking-lerobot-images"). Every pixel is kept as it was.',
  },
  minari: { title: "Minari", opens: 'Open it with minari: set MINARI_DATASETS_PATH to the path of docking-minari, then minari.load_dataset("docking-v0").' },
  tfds: { title: "RLDS (TFDS)", opens: 'Open it with tensorflow_datasets: tfds.builder_from_directory("docking-tfds/docking/1.0.0").' },
} as const;

export type Format = keyof typeof FORMATS;
