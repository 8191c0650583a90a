/** Makes films for `writeLeRobot`; the encoder is loaded when the first one begins. */
import type { MakeVideoEncoder } from "reprise/rlds";

/** Whether this browser has any encoder; `encodeFilm` may still find none for a size. */
export const filmsHere = (): boolean => "VideoEncoder" in globalThis;

/** An option `videoEncoder`, also in a worker. @throws Error if the browser has no encoder for the size */
export const encodeFilm: MakeVideoEncoder = async (format) => (await import("./encode-film.ts")).encodeFilm(format);
