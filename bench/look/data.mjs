// A gigabyte of recorded data in each format that is read by ranges, made once and kept in the system's folder of temporary files.
import { createWriteStream, existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Zip, ZipPassThrough } from "fflate";
import * as h5wasm from "h5wasm/node";
import { f32, i64, writeParquet } from "reprise/rlds";
