// Exports TensorFlow.js with its plain JavaScript backend, without its hints on the console.
import * as tf from "@tensorflow/tfjs-core";
import "@tensorflow/tfjs-backend-cpu";

tf.enableProdMode();
await tf.ready();

export { tf };
