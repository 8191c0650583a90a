/** Writes and reads a journal in every runtime: the same sections produce the same sums. */
import { decodeTagged, encodeTagged, Log } from "../../dist/storage.js";

const GROUPS = 300;
const VALUE = { text: "ü\ud800", list: [1n << 70n, -0, null, undefined], map: new Map([["a", new Set([1])]]), bytes: Float32Array.of(1.5), when: new Date(0) };

/** Writes groups of sections through many small segments. Flushes the log at the end, and returns it without closing it. */
export function write(directory) {
  const log = Log.open(directory, { about: { of: "a story" }, segmentBytes: 5000, durability: "manual" });
  for (let group = 0; group < GROUPS; group++) {
    log.write(
      32,
      group,
      new Uint8Array(group).map((_, i) => i * group),
    );
    log.write(33, group, encodeTagged(VALUE, "value"));
    log.commit();
  }
  log.flush();
  return log;
}

/** Reads the journal and returns its content. */
export function read(directory) {
  const log = Log.open(directory, { about: {}, durability: "manual" });
  let groups = 0;
  let sum = 0;
  let same = log.about.of === "a story";
  const first = JSON.stringify(shown(VALUE));
  for (const _ of log.replay((kind, _id, payload) => {
    groups += kind - 32;
    if (kind === 33) same &&= JSON.stringify(shown(decodeTagged(payload))) === first;
    else for (const byte of payload) sum = (Math.imul(sum, 31) + byte) >>> 0;
  })) {
  }
  log.close();
  return `journal: ${groups} groups, sum ${sum}, same values: ${same}`;
}

function shown({ text, list, map, bytes, when }) {
  return [
    [...text].map((char) => char.codePointAt(0)),
    list.map((one) => `${typeof one} ${Object.is(one, -0)} ${one}`),
    [...map.get("a")],
    [...bytes],
    when.getTime(),
  ];
}
