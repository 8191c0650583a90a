// In a worker HDF5 reads Blobs where they are. A worker has no import map: h5wasm is given.
import * as h5wasm from "../../node_modules/h5wasm/dist/esm/hdf5_hl.js";
import { told } from "./datasets-story.mjs";

addEventListener("message", async ({ data }) => postMessage(await told(data, { h5wasm }).catch(String)));
