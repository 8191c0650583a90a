/** Tests a journal with correct checksums whose records describe an impossible state, as a faulty program or a damaged group may leave it. */
import { expect, test } from "vitest";
import { TABLE } from "../../../src/base/kinds.ts";
import { type MemoryDirectory, memory } from "../../../src/files/memory.ts";
import { i32 } from "../../../src/index.ts";
import { Log } from "../../../src/storage/log/log.ts";
import { again } from "./opened.ts";

const OPTIONS = { spec: { x: i32() }, tables: { t: { maxSize: 8 } }, durability: "manual", logger: null } as const;
/** The offset of the total number of steps, an f64, in a TABLE record. */
const STEPS_AT = 4;

/** Writes a journal whose table claims `more` steps than its items have, followed by a damaged group and another group. */
async function forged(more: number): Promise<MemoryDirectory> {
  const dir = memory();
  const replay = await again(dir, OPTIONS);
  const writer = (replay as unknown as { writer(o: object): { append(step: object): void } }).writer({ items: [{ table: "t", length: 2 }] });
  for (let x = 0; x < 5; x++) {
    writer.append({ x });
    await replay.flush();
  }
  const read = Log.open(memory({ files: dir.files() }), { about: {}, readOnly: true });
  const sections: [kind: number, id: number, payload: Uint8Array][] = [];
  for (const _ of read.replay((kind, id, payload) => void sections.push([kind, id, payload.slice()])));
  const [kind, id, table] = sections.filter(([one]) => one === TABLE).at(-1) as [number, number, Uint8Array];
  const view = new DataView(table.buffer, table.byteOffset);
  view.setFloat64(STEPS_AT, view.getFloat64(STEPS_AT, true) + more, true);

  const out = memory();
  const log = Log.open(out, { about: read.about, durability: "manual" });
  for (const _ of log.replay(() => {}));
  for (const section of sections) log.write(...section);
  log.commit();
  log.flush();
  const good = (out.files().get("00000001.rpr") as Uint8Array).length;
  for (let k = 0; k < 2; k++) {
    log.write(kind, id, table);
    log.commit();
  }
  log.flush();
  log.close();
  const [[name, bytes] = ["", new Uint8Array()]] = [...out.files()];
  const damaged = bytes.slice();
  damaged[good + 20] = 255 - (damaged[good + 20] as number);
  return memory({ files: [[name, damaged]] });
}

test("salvage rejects a journal whose records describe an impossible state", async () => {
  const right = await again(await forged(0), { ...OPTIONS, salvage: true });
  expect(right.tables.t?.stats().size).toBe(4);
  right.dispose();
  await expect(again(await forged(1), { ...OPTIONS, salvage: true })).rejects.toThrow(expect.objectContaining({ code: "CORRUPT" }));
});
