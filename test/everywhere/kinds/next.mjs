// Runs Next with both of its bundlers: a page, whose code runs in Chromium, and a route, whose code runs on its server.
import { serving } from "../servers.mjs";
import { clean, warningsIn } from "../warnings.mjs";
import { run } from "../workshop.mjs";

const files = (short) => ({
  "app/layout.js": "export default function Layout({ children }) { return <html><head><title>…</title></head><body>{children}</body></html>; }\n",
  "app/page.js": `"use client";
import { useEffect } from "react";
export default function Page() {
  useEffect(() => void import("../suite.mjs").then(({ shown }) => shown(${JSON.stringify({ short })})), []);
  return null;
}
`,
  "app/lines/route.js": `import { answered } from "../../suite.mjs";
export const dynamic = "force-dynamic";
export const GET = () => answered(${JSON.stringify({ folder: "files", short })});
`,
});

export function rows(workshop, browsers) {
  // Next is installed in a folder above the project.
  const config = { "next.config.mjs": `export default { turbopack: { root: ${JSON.stringify(workshop.folder)} } };\n` };
  const next = workshop.tool("next/dist/bin/next");
  const bundlers = { webpack: "--webpack", Turbopack: "--turbopack" };
  return Object.entries(bundlers).flatMap(([bundler, flag]) =>
    [false, true].flatMap((peers) => {
      const where = `Next with ${bundler}`;
      const and = peers ? ", with the optional packages" : "";
      let served;
      const site = async (short) => {
        const project = () => workshop.project(`next-${bundler.toLowerCase()}`, { peers, data: true, files: { ...files(short), ...config } });
        served ??= await serve(next, flag, project(), peers);
        return served;
      };
      return [
        {
          where: `${where}, a page${and}`,
          version: workshop.version("next"),
          peers,
          short: peers,
          suite: async (short) => browsers.visit("chromium", `${(await site(short)).address}/`),
        },
        {
          where: `${where}, its server${and}`,
          version: workshop.version("next"),
          peers,
          files: true,
          short: peers,
          async suite(short) {
            const { address } = await site(short);
            try {
              return await (await fetch(`${address}/lines`)).json();
            } finally {
              served.end();
            }
          },
        },
      ];
    }),
  );
}

/** Builds a project and starts it. */
async function serve(next, flag, folder, peers) {
  const env = { NEXT_TELEMETRY_DISABLED: "1", NODE_ENV: "production" };
  clean(warningsIn(await run(folder, process.execPath, [next, "build", flag], { env, what: "all" })), peers);
  return serving(process.execPath, [next, "start", "--hostname", "127.0.0.1", "--port", "0"], { cwd: folder, env: { ...process.env, ...env } });
}
