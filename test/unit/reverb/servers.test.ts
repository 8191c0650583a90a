/** Tests one client with several scripted servers: which servers it calls, and the effects of a lost server. test/interop uses real servers. */
import { afterEach, expect, it, vi } from "vitest";
import { i32 } from "../../../src/index.ts";
import { ReverbClient } from "../../../src/reverb/index.ts";
import { GrpcServer } from "../../support/grpc-server.ts";
import { ReverbTwin } from "../../support/reverb-twin.ts";
import { useTurnClock } from "../../support/turn-clock.ts";

useTurnClock();

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

/** Starts a server that sends empty answers and records its requests. */
async function serve(port?: number): Promise<{ readonly server: GrpcServer; readonly asked: string[] }> {
  const asked: string[] = [];
  const begin = ({ method }: { readonly method: string }) => void asked.push(method.split("/")[2] as string);
  const server = await GrpcServer.start({ begin, message: (call) => call.send(new Uint8Array()), finish: (call) => call.end() }, port);
  return { server, asked };
}

it.each([
  [[], RangeError, /address must/],
  [["a:1", "a:1"], RangeError, "address[1] must be"],
  [["a:1", 7], TypeError, "address[1] must be a string"],
  [["a:1", "b"], RangeError, "address[1] must be HOST:PORT"],
  [["a:1", "a:65536"], RangeError, "the port in address[1] must be in 1 … 65535, got 65536"],
  [["a:0"], RangeError, "the port in address[0] must be in 1 … 65535, got 0"],
])("addresses %j are rejected", (addresses, kind, rule) => {
  expect(() => new ReverbClient(addresses as string[])).toThrow(kind);
  expect(() => new ReverbClient(addresses as string[])).toThrow(rule);
});

it("calls reach all servers, and a lost server is logged once and used again after its return", async () => {
  const [a, b] = [await serve(), await serve()];
  open.push({ close: () => b.server.stop() });
  const told: string[] = [];
  const logger = { warn: (line: string) => told.push(line), info: (line: string) => told.push(line) };
  const client = new ReverbClient([a.server.address, b.server.address], { logger });
  open.push(client);
  expect(client.address).toBe(`${a.server.address}, ${b.server.address}`);
  await client.reset("t");
  expect([a.asked, b.asked, client.goneServers]).toEqual([["Reset"], ["Reset"], []]);
  await a.server.stop();
  for (let k = 0; k < 3; k++) await client.mutatePriorities("t", { deletes: [1n] });
  expect([b.asked.length, client.goneServers]).toEqual([4, [a.server.address]]);
  expect(told).toEqual([expect.stringMatching(/^reprise: the Reverb server at .* ended MutatePriorities with UNAVAILABLE: .*\. 1 of 2 servers/)]);
  expect(told[0]).toContain(a.server.address);
  const again = await serve(a.server.port);
  open.push({ close: () => again.server.stop() });
  await vi.waitFor(
    async () => {
      await client.reset("t");
      expect(again.asked).toContain("Reset");
    },
    { timeout: 10_000, interval: 50 },
  );
  expect([told[1], client.goneServers]).toEqual([`reprise: the Reverb server at ${a.server.address} is back`, []]);
});

it("the error names each server if none is left", async () => {
  const [a, b] = [await serve(), await serve()];
  const addresses = [a.server.address, b.server.address];
  await a.server.stop();
  await b.server.stop();
  const client = new ReverbClient(addresses, { logger: null });
  open.push(client);
  for (let k = 0; k < 2; k++) {
    const error = await client.reset("t").catch((one: Error) => one);
    expect(error).toMatchObject({ code: "IO", isLost: true });
    for (const address of addresses) expect((error as Error).message).toContain(`${address}: connect ECONNREFUSED`);
  }
});

/** Stops a server, restarts it without a call that would notice, and stops the other one. */
async function swapped() {
  const [a, b] = [await serve(), await serve()];
  const told: string[] = [];
  const logger = { warn: (line: string) => told.push(line), info: (line: string) => told.push(line) };
  const client = new ReverbClient([a.server.address, b.server.address], { spec: { act: i32() }, logger });
  open.push(client);
  await client.reset("t");
  await a.server.stop();
  await client.reset("t");
  const again = await serve(a.server.port);
  open.push({ close: () => again.server.stop() });
  await b.server.stop();
  return { a, b, again, client, told };
}

it('a returned server is tried before "No other server is left" is logged', async () => {
  const { a, b, again, client, told } = await swapped();
  await client.reset("t");
  expect(again.asked).toContain("Reset");
  await vi.waitFor(() => expect(told.length).toBe(3));
  const [lost, ...others] = told as [string, ...string[]];
  expect(lost).toContain(`${a.server.address} ended`);
  expect(others).toContainEqual(expect.stringMatching(new RegExp(`^reprise: the Reverb server at ${b.server.address} ended .*\\. 1 of 2 servers`)));
  expect(others).toContain(`reprise: the Reverb server at ${a.server.address} is back`);
  await again.server.stop();
  await client.reset("t").catch(() => {});
  await vi.waitFor(() => expect(told[3]).toMatch(new RegExp(`^reprise: the Reverb server at ${a.server.address} ended .*\\. No other server is left$`)));
});

it('close does not log "No other server is left"', async () => {
  const { client, told } = await swapped();
  const reset = client.reset("t").catch(() => {});
  client.close();
  await reset;
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(told.filter((line) => line.includes("No other server"))).toEqual([]);
});

it("an unconfirmed item is sent to another server with the same key", async () => {
  const twins = [new ReverbTwin("t"), new ReverbTwin("t")] as const;
  const servers = [await GrpcServer.start(twins[0].handler), await GrpcServer.start(twins[1].handler)];
  open.push({ close: () => Promise.all(servers.map((server) => server.stop().catch(() => {}))) });
  const addresses = servers.map(({ address }) => address);
  const client = new ReverbClient(addresses, { spec: { act: i32() }, logger: null });
  open.push(client);
  // Both servers have the item without a confirmation; then the server that received it disappears.
  const confirms = twins.map(({ confirm }) => confirm);
  for (const twin of twins) twin.confirm = () => {};
  const inserted = client.insert({ act: 1 }, { t: 1 });
  const sizes = () => twins.map(({ tables }) => tables.get("t")?.size ?? 0);
  await vi.waitFor(() => expect(sizes()).toContain(1), { timeout: 10_000, interval: 5 });
  for (const [i, twin] of twins.entries()) twin.confirm = confirms[i] as typeof twin.confirm;
  await servers[sizes().indexOf(1)]?.stop();
  await inserted;
  expect(sizes()).toEqual([1, 1]);
  const [a, b] = twins.map(({ tables }) => [...(tables.get("t")?.keys() ?? [])]);
  expect(a).toEqual(b);
});
