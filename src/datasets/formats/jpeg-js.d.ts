/** Declares only the decoder of jpeg-js, because the main entry of the package also loads the encoder. */
declare module "jpeg-js/lib/decoder.js" {
  export { decode as default } from "jpeg-js";
}
