// The game in Babylon.js, here without a screen: node babylon.js [FRAMES]. In a page, take Engine with a canvas instead of NullEngine.
import { ArcRotateCamera } from "@babylonjs/core/Cameras/arcRotateCamera.js";
import { NullEngine } from "@babylonjs/core/Engines/nullEngine.js";
import { Vector3 } from "@babylonjs/core/Maths/math.vector.js";
import { CreateBox } from "@babylonjs/core/Meshes/Builders/boxBuilder.js";
import { CreateSphere } from "@babylonjs/core/Meshes/Builders/sphereBuilder.js";
import { Scene } from "@babylonjs/core/scene.js";
import { Catch, HEIGHT, WIDTH, warmUp } from "./catch.js";

const frames = Number(process.argv[2] ?? 3000);
warmUp();
const game = new Catch(7);
const engine = new NullEngine();
const scene = new Scene(engine);
new ArcRotateCamera("camera", -Math.PI / 2, Math.PI / 2, 30, new Vector3(WIDTH / 2, HEIGHT / 2, 0), scene);
const ball = CreateSphere("ball", { diameter: 1 }, scene);
const paddle = CreateBox("paddle", { width: 3, height: 0.5, depth: 1 }, scene);

let frame = 0;
let late = 0; // balls that were caught in the last third
scene.onBeforeRenderObservable.add(() => {
  const { caught } = game;
  game.frame();
  if (++frame > (2 * frames) / 3) late += game.caught - caught;
  ball.position.set(game.ball.x, HEIGHT - game.ball.y, 0);
  paddle.position.set(game.paddle, 1, 0);
});
engine.runRenderLoop(() => {
  scene.render();
  if (frame < frames) return;
  console.log(`${frame} frames, ${game.caught} caught, ${game.missed} missed; of the last ${Math.floor(frames / 3 / (HEIGHT - 1))} balls ${late} were caught`);
  engine.stopRenderLoop();
  engine.dispose();
});
