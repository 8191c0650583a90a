/** Loads the PNG encoder, a module that only writers of images need. */

/** A function that encodes an image with 8 bits per channel as PNG. */
export type EncodePng = (data: Uint8Array, width: number, height: number, channels: number) => Uint8Array;

/** Returns the PNG encoder, or, without loading it, a function that throws if the dataset has no images. */
export async function loadEncodePng(hasImages: boolean): Promise<EncodePng> {
  return hasImages ? (await import("./encode-png.ts")).encodePng : throwUnexpectedImage;
}

function throwUnexpectedImage(): never {
  throw new Error("the dataset has no images to encode");
}
