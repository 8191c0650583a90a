// Runs in any runtime against a real Reverb server: writes, samples, and reconnects in the middle of both. Prints a digest of all results. The argument is the
// address of the server. The program prints a request to kill and restart the server, and waits for a line of input.
import { createHash } from "node:crypto";
import { createInterface } from "node:readline";
import { bool, f32, i32, text, u8 } from "../../dist/index.js";
import { ReverbClient } from "../../dist/reverb.js";

const [address] = process.argv.slice(2);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const digest = createHash("sha256");
const ended = [];

/** Waits until the server has been killed and restarted. */
async function restarted() {
  console.log("restart");
  await lines.next();
}

function note(value) {
  if (ArrayBuffer.isView(value)) digest.update(new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
  else digest.update(JSON.stringify(value));
}

const spec = { obs: f32(3), act: i32(), name: text({ maxBytes: 40 }), image: u8(64, 64), done: bool() };
const step = (i) => ({
  obs: [i, i / 3, -i],
  act: i * 7,
  name: `step ${i} – ä`,
  image: Uint8Array.from({ length: 64 * 64 }, (_, k) => (Math.imul(k + 1, i + 1) >>> 3) & 255),
  done: i % 5 === 0,
});

const client = new ReverbClient(address, { spec, reconnectTimeoutMs: 60_000 });
async function draw(count, options = {}) {
  const sampler = client.sampler("first", { maxSamples: count, ...options });
  for (let item = await sampler.next(); item !== undefined; item = await sampler.next()) {
    note([item.info.priority, item.info.timesSampled, item.columns.map(({ dtype, isSqueezed, column }) => [dtype, isSqueezed, column.shape])]);
    for (const { column } of item.columns) note(column.data);
  }
  sampler.close();
}

async function write(writer, from, to) {
  for (let i = from; i < to; i++) {
    writer.append(step(i));
    if (i < 2) continue;
    const { obs, act, name, image, done } = writer.history;
    await writer.createItem("first", i, { a: obs.slice(-3), b: act.at(-1), c: name.slice(-2), d: image.slice(-2), e: done.list([i, i - 2]) });
  }
}

// These items have more bytes than a flow control window.
const writer = client.trajectoryWriter({ numKeepAliveRefs: 3 });
await write(writer, 0, 3000);
await writer.flush();
await draw(2998, { maxInFlightSamplesPerWorker: 50 });
ended.push("written and drawn");

// One step goes into two tables. Invalid calls follow.
await client.insert(step(5), { first: 1, heap: 2 });
for await (const [one] of client.sample("heap", 1)) note(one.data[0].data);
await draw(1);
for (const wrong of [() => client.insert(step(1), { nowhere: 1 }), () => client.reset("nowhere"), () => client.insert(step(1), { signed: 1 })])
  note(
    await wrong().then(
      () => "taken",
      ({ code }) => code,
    ),
  );

// The server is killed in the middle of writes, so unconfirmed items are sent again.
await write(writer, 3000, 3010);
await restarted();
await write(writer, 3010, 3500);
await writer.flush({ timeoutMs: 60_000 });
const { currentSize } = (await client.serverInfo()).first;
// Items that the server had confirmed before it was killed are lost with it.
if (currentSize < 490 || currentSize > 500) throw new Error(`${currentSize} items are there`);
ended.push("written over a restart");
await client.reset("first");

// The server is killed while a sampler waits.
const sampler = client.sampler("first", { maxSamples: 1 });
const waiting = sampler.next();
await restarted();
await write(writer, 3500, 3501);
await writer.flush({ timeoutMs: 60_000 });
note((await waiting).columns[0].column.data);
sampler.close();
ended.push("sampled over a restart");

const late = client.sampler("first", { rateLimiterTimeoutMs: 100 });
note(
  await late.next().then(
    () => "an item",
    ({ code }) => code,
  ),
);
late.close();
writer.close();
client.close();
for (const line of ended) console.log(line);
console.log(digest.digest("hex"));
// Without this call, the open input would keep the process alive.
process.stdin.unref?.();
