// TensorFlow.js on its backend in plain JavaScript, without advice on the console.
import * as tf from "@tensorflow/tfjs-core";
import "@tensorflow/tfjs-backend-cpu";

tf.enableProdMode();
await tf.ready();

export { tf };
