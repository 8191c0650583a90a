/** Tests TLS connections to servers, which `credentials` configures. */
import type { SecureServerOptions } from "node:http2";
import { afterEach, describe, expect, it } from "vitest";
import { ReverbClient } from "../../../src/reverb/index.ts";
import { authority, certificate, key, otherAuthority } from "../../support/certificates.ts";
import { GrpcServer } from "../../support/grpc-server.ts";

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

async function serve(secure?: SecureServerOptions): Promise<GrpcServer> {
  const answer = { message: (call: { send(bytes: Uint8Array): void }) => call.send(new Uint8Array()), finish: (call: { end(): void }) => call.end() };
  const server = await GrpcServer.start(answer, 0, secure);
  open.push({ close: () => server.stop() });
  return server;
}

async function reset(address: string, credentials?: object): Promise<unknown> {
  const client = new ReverbClient(address, { connectTimeoutMs: 5000, ...(credentials && { credentials }) });
  open.push(client);
  return await client.reset("t").catch((error) => error);
}

describe("a server with TLS", () => {
  it("answers clients that trust its authority, by name or address, or any certificate", async () => {
    const { address, port } = await serve({ key, cert: certificate });
    expect(await reset(address, { ca: authority })).toBeUndefined();
    expect(await reset(`localhost:${port}`, { ca: authority })).toBeUndefined();
    expect(await reset(address, { rejectUnauthorized: false })).toBeUndefined();
  });

  it.each([
    [
      "another authority",
      { ca: otherAuthority },
      "its certificate cannot be trusted: unable to verify the first certificate (UNABLE_TO_VERIFY_LEAF_SIGNATURE)",
    ],
    ["only the system's certificates", {}, "its certificate cannot be trusted"],
    ["another name", { ca: authority, servername: "elsewhere.example" }, "Host: elsewhere.example. is not in the cert's altnames"],
    ["not a certificate", { ca: authority, cert: "nonsense", key: "nonsense" }, "these credentials are invalid: "],
  ])("is rejected with %s, and the error contains the address and a solution", async (_, credentials, why) => {
    const { address } = await serve({ key, cert: certificate });
    const error = (await reset(address, credentials)) as Error;
    expect(error).toMatchObject({ code: "IO", isLost: false });
    expect(error.message).toContain(`the Reverb server at ${address} ended Reset with UNAUTHENTICATED: `);
    expect(error.message).toContain(why);
    expect(error.message).toMatch(/credentials.*\{ ca \}/);
  });

  it("may require a client certificate", async () => {
    const { address } = await serve({ key, cert: certificate, ca: authority, requestCert: true, rejectUnauthorized: true });
    expect(await reset(address, { ca: authority, cert: certificate, key })).toBeUndefined();
    const refused = {
      code: "IO",
      isLost: false,
      message: expect.stringContaining(`${address} ended Reset with UNAUTHENTICATED: it rejects this client's credentials`),
    };
    expect(await reset(address, { ca: authority })).toMatchObject(refused);
  });
});

it("TLS clients of plain servers and plain clients of TLS servers fail with IO", async () => {
  const plain = await serve();
  const error = (await reset(plain.address, { ca: authority })) as Error;
  expect(error).toMatchObject({
    code: "IO",
    isLost: false,
    message: expect.stringContaining("not TLS (ERR_SSL_WRONG_VERSION_NUMBER)"),
  });
  const secure = await serve({ key, cert: certificate });
  expect(await reset(secure.address)).toMatchObject({ code: "IO", message: expect.stringContaining("Pass credentials") });
});

it("credentials that are not an object throw", () => {
  expect(() => new ReverbClient("localhost:1", { credentials: "secret" as never })).toThrow(/credentials must/);
});
