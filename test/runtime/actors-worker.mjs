/** Runs an actor in a worker, in any runtime. The message `{ actor, steps }` sets its number and the number of its steps. */
const refuse = () => {
  throw new Error("reprise/remote compiles WebAssembly");
};
Object.assign(WebAssembly, { compile: refuse, compileStreaming: refuse, instantiate: refuse, instantiateStreaming: refuse, Module: refuse });
const port = typeof globalThis.postMessage === "function" ? globalThis : (await import("node:worker_threads")).parentPort;
const { f32, i32, remoteWriter } = await import("../../dist/remote.js");

const writer = await remoteWriter(port, { spec: { observation: f32(2), action: i32(), reward: f32() } });
const { actor, steps } = await new Promise((resolve) => {
  // An invitation of acceptWriter may arrive late, and is ignored.
  const heard = (message) => message.reprise === undefined && resolve(message);
  if (port.on) port.on("message", heard);
  else port.addEventListener("message", ({ data }) => heard(data));
  port.postMessage("what?");
});
for (let t = 0; t < steps; t++) {
  await writer.append({ observation: [actor, t], action: t, reward: 1 });
  if (t % 100 === 99) await writer.endEpisode({ final: { observation: [actor, t + 1] }, terminated: t % 200 === 99 });
  // A thread that never yields sends nothing.
  if (steps === Infinity && t % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
}
await writer.close();
