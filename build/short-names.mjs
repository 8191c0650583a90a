// Inside the bundle the core's exports, and the package's own fields, have short names: nobody sees them there, and the full ones cost 0.5 KB
// compressed. dist/core.wasm keeps its names, and src/core/core.ts gives the functions of any build these names, by their place.

/** Fields of what the package keeps to itself; no public name is among them, and none that is written to a snapshot. */
const INTERNAL =
  `alignment alloc attempt changed failure frameBytes framePools generation holds leaves lookers makeLanes makeStep moved pools prepare refresh rejectAll
  rowBytes scratch selection selections shapeOf squeezed stagedBytes straight unstage until waiters`.split(/\s+/);

/** The id of a module's list of exports. */
const EXPORTS = 7;

/** A short name for every function that a module exports, by its place among the exports, and for the package's own fields. */
export function shortNamesOf(bytes) {
  const exported = WebAssembly.Module.exports(new WebAssembly.Module(bytes)).map(({ name, kind }) => (kind === "function" ? name : undefined));
  const names = [...exported, ...INTERNAL].map((name, i) => [name, `$${i.toString(36)}`]);
  return Object.fromEntries(names.filter(([name]) => name !== undefined));
}

/** The same module with other names for its exports. */
export function rename(bytes, names) {
  const reader = { at: 8, bytes };
  const sections = [bytes.subarray(0, 8)];
  while (reader.at < bytes.length) {
    const start = reader.at;
    const id = bytes[reader.at++];
    const end = number(reader) + reader.at;
    sections.push(id === EXPORTS ? section(exportsOf(reader, names)) : bytes.subarray(start, end));
    reader.at = end;
  }
  return Buffer.concat(sections);
}

function exportsOf(reader, names) {
  const count = number(reader);
  const renamed = [leb(count)];
  for (let i = 0; i < count; i++) {
    const length = number(reader);
    const name = reader.bytes.toString("utf8", reader.at, reader.at + length);
    reader.at += length;
    const kind = reader.bytes[reader.at++];
    const short = Buffer.from(names[name] ?? name);
    renamed.push(leb(short.length), short, Buffer.of(kind), leb(number(reader)));
  }
  return Buffer.concat(renamed);
}

function section(body) {
  return Buffer.concat([Buffer.of(EXPORTS), leb(body.length), body]);
}

/** Reads an unsigned LEB128. */
function number(reader) {
  let value = 0;
  for (let shift = 0; ; shift += 7) {
    const byte = reader.bytes[reader.at++];
    value += (byte & 127) << shift;
    if (byte < 128) return value;
  }
}

/** Writes one. */
function leb(value) {
  const bytes = [];
  for (; value > 127; value >>>= 7) bytes.push((value & 127) | 128);
  return Buffer.from([...bytes, value]);
}
