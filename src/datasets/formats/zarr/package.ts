/** Loads the optional package for Zarr. */
import { unsupportedFile } from "../../model/rlds-error.ts";

/** Loads zarrita. @throws RldsError UNSUPPORTED if zarrita is not installed */
export async function zarrita() {
  try {
    // The import is awaited inside `try`, because a bundler then accepts a missing package.
    const { get, open, slice } = await import("zarrita");
    return { get, open, slice };
  } catch (cause) {
    throw unsupportedFile({}, "zarrita is required to read Zarr. Run npm install zarrita", cause);
  }
}

export type Zarrita = Awaited<ReturnType<typeof zarrita>>;
