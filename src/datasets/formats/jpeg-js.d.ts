/** The half of jpeg-js that is used: the package's own entry loads its encoder as well. */
declare module "jpeg-js/lib/decoder.js" {
  export { decode as default } from "jpeg-js";
}
