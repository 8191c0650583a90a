/** Exports the target of package.json's `#builtins` in Node. */
import * as fs from "node:fs";
import * as promises from "node:fs/promises";
import * as http2 from "node:http2";
import * as os from "node:os";
import * as path from "node:path";
import * as zlib from "node:zlib";

export const builtins: { readonly [name: string]: unknown } = {
  "node:fs": fs,
  "node:fs/promises": promises,
  "node:http2": http2,
  "node:os": os,
  "node:path": path,
  "node:zlib": zlib,
};
