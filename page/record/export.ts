/** Writes demonstrations as a dataset for other programs: RLDS for tensorflow_datasets, and the formats of the other writers. */
import { bool, f32, i32, u8 } from "reprise";
import { type RldsDataset, rldsDataset, type Sink, type WriteOptions, type WriteReport, writeLeRobot, writeMinari, writeTfds } from "reprise/rlds";
import { encodeFilm } from "../parts/film.ts";
import type { Demonstrations, Episode } from "./demonstrations.ts";
import { type Format, NAME } from "./formats.ts";
import { ACTION, FPS, STATE } from "./game.ts";
import { CAMERA } from "./picture.ts";

const DESCRIPTION = "A boat is steered around two rocks until it rests in a ring: demonstrations recorded in the page of Reprise.";

const CAMERA_LEAF = "observation/image";
const LEROBOT = {
  fps: FPS,
  task: "Steer the boat into the ring, and rest there.",
  robotType: "boat",
  names: { "observation/state": STATE, action: ACTION },
  finalStep: "observation",
} as const;

const STEP_SPEC = {
  observation: { state: f32(STATE.length), image: u8(CAMERA, CAMERA, 3) },
  action: f32(ACTION.length),
  reward: f32(),
  discount: f32(),
  is_first: bool(),
  is_last: bool(),
  is_terminal: bool(),
};

/** The metadata of each episode. */
const METADATA_SPEC = { episode_id: i32(), seed: i32(), success: bool(), ending: { dtype: "string", shape: [] } } as const;

/**
 * Returns the used episodes. In the last step of each episode, only the observation counts: the last observation, or the last saved observation of a cut
 * episode.
 */
export function datasetOf(demonstrations: Demonstrations): RldsDataset & { readonly episodes: number } {
  // The last step of a cut episode only contains an observation, so a single step demonstrates nothing.
  const used = demonstrations.episodes.filter((episode) => episode.used && (episode.ending !== "cut" || episode.steps > 1));
  return Object.assign(
    rldsDataset(() => used.map((episode) => rldsEpisode(demonstrations, episode)), { stepSpec: STEP_SPEC, metadataSpec: METADATA_SPEC }),
    { episodes: used.length },
  );
}

function rldsEpisode(demonstrations: Demonstrations, { id, seed, ending }: Episode) {
  return { episode_id: id, seed, success: ending === "docked", ending, steps: steps(demonstrations, id, ending) };
}

function* steps(demonstrations: Demonstrations, id: number, ending: Episode["ending"]) {
  const { rows, state, image, action, reward } = demonstrations.read(id);
  const of = <T extends Float32Array | Uint8Array>(data: T, t: number) => data.subarray((data.length / rows) * t, (data.length / rows) * (t + 1)) as T;
  for (let t = 0; t < rows; t++) {
    const last = t === rows - 1;
    const terminal = last && (ending === "docked" || ending === "wrecked");
    yield {
      observation: { state: of(state, t), image: of(image, t) },
      action: last ? new Float32Array(ACTION.length) : of(action, t),
      reward: last ? 0 : (reward[t] as number),
      discount: terminal ? 0 : 1,
      is_first: t === 0,
      is_last: last,
      is_terminal: terminal,
    };
  }
}

/** Writes the used episodes in a form that the format's own library opens. */
export function write(format: Format, demonstrations: Demonstrations, to: Sink, options: WriteOptions): Promise<WriteReport> {
  const dataset = datasetOf(demonstrations);
  switch (format) {
    case "lerobot":
      return writeLeRobot(dataset, to, { ...LEROBOT, ...options, videos: [CAMERA_LEAF], videoEncoder: encodeFilm });
    case "lerobot-images":
      return writeLeRobot(dataset, to, { ...LEROBOT, ...options });
    case "minari":
      return writeMinari(dataset, to, { ...options, id: `${NAME}-v0`, description: DESCRIPTION });
    case "tfds":
      return writeTfds(dataset, to, { ...options, name: NAME, description: DESCRIPTION, images: [CAMERA_LEAF] });
  }
}
