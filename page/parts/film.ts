/** Makes films for `writeLeRobot`; the encoder is loaded when the first film begins. */
import type { MakeVideoEncoder } from "reprise/rlds";

/** Whether this browser has any encoder. `encodeFilm` may still find no encoder for a size. */
export const filmsHere = (): boolean => "VideoEncoder" in globalThis;

/** The option `videoEncoder`, which also works in a worker. @throws Error if the browser has no encoder for the size */
export const encodeFilm: MakeVideoEncoder = async (format) => (await import("./encode-film.ts")).encodeFilm(format);
