/** The package for Zarr, which is installed by those who need it. */
import { unsupportedFile } from "../../model/rlds-error.ts";

/** @throws RldsError UNSUPPORTED where zarrita is not installed */
export async function zarrita() {
  try {
    // Awaited where it stands, inside `try`: a bundler then sees that the package may be missing.
    const { get, open, slice } = await import("zarrita");
    return { get, open, slice };
  } catch (cause) {
    throw unsupportedFile({}, "zarrita is required to read Zarr. Run npm install zarrita", cause);
  }
}

export type Zarrita = Awaited<ReturnType<typeof zarrita>>;
