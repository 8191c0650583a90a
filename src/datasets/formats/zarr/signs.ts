/** The files by which a Zarr store of episodes is known. */

/** Where episodes end, in every store of diffusion_policy's. */
export const EPISODE_ENDS = "meta/episode_ends";
export const ARRAY_2 = ".zarray";
export const NODE_3 = "zarr.json";

/** Where the store is whose episodes' ends a path describes: empty, or with a slash at its end; undefined for any other path. */
export function rootOf(path: string): string | undefined {
  const name = [ARRAY_2, NODE_3].map((file) => `${EPISODE_ENDS}/${file}`).find((end) => path === end || path.endsWith(`/${end}`));
  return name === undefined ? undefined : path.slice(0, -name.length);
}

/** Whether paths are those of any Zarr store. */
export function hasZarr(paths: readonly string[]): boolean {
  return paths.some((path) => /(^|\/)(\.zgroup|\.zarray|zarr\.json)$/.test(path));
}

/** What an error says of a store of other things. */
export const NO_EPISODE_ENDS = `the folder is a Zarr store without ${EPISODE_ENDS}, which says where episodes end: write it, and the arrays of the steps into the group data`;
