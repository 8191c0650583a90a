/** Defines the files by which a Zarr store of episodes is detected. */

/** The path of the array with the ends of episodes in the layout of diffusion_policy. */
export const EPISODE_ENDS = "meta/episode_ends";
export const ARRAY_2 = ".zarray";
export const NODE_3 = "zarr.json";

/** Returns the root of a store, given the path of its array of episode ends. The root is empty or ends with a slash. Returns undefined for any other path. */
export function rootOf(path: string): string | undefined {
  const name = [ARRAY_2, NODE_3].map((file) => `${EPISODE_ENDS}/${file}`).find((end) => path === end || path.endsWith(`/${end}`));
  return name === undefined ? undefined : path.slice(0, -name.length);
}

/** Returns whether one of the paths is a metadata file of Zarr. */
export function hasZarr(paths: readonly string[]): boolean {
  return paths.some((path) => /(^|\/)(\.zgroup|\.zarray|zarr\.json)$/.test(path));
}

/** The message for a Zarr store without episode ends. */
export const NO_EPISODE_ENDS = `the folder is a Zarr store without ${EPISODE_ENDS}. Write the ends of the episodes to it, and the arrays of the steps to the group "data"`;
