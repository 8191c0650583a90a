// Reads Blobs with HDF5 in a worker without copying them. A worker has no import map, so the message passes h5wasm.
import * as h5wasm from "../../node_modules/h5wasm/dist/esm/hdf5_hl.js";
import { told } from "./datasets-story.mjs";

addEventListener("message", async ({ data }) => postMessage(await told(data, { h5wasm }).catch(String)));
