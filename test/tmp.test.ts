import { openRlds } from "../src/datasets/rlds/index.ts";
import { it } from "vitest";
it("x", async () => {
  const tries: [string, object][] = [["epunsorted.parquet", {}],["duckdb_list.parquet",{}],["zerorows.parquet",{}],["nullstr.parquet",{}],["nullstr.parquet",{without:["x"]}],["nullstr.parquet",{null:{x:"-"}}],["dba.parquet",{}],["dba.parquet",{without:["task"]}],["dba.parquet",{without:["tsk"]}],["dba.parquet",{only:["observation"]}],["dba.parquet",{only:["observation"], rename:{reward:"r"}}]];
  for (const [f, o] of tries) {
    try { const r = await openRlds("test/data/wild/"+f, o); const l: unknown[] = []; for await (const e of r) l.push([e.final_step, e.steps.length, e.steps.at(0)]); console.log(f, JSON.stringify(o), JSON.stringify(l,(k,v)=>typeof v==="bigint"?Number(v):ArrayBuffer.isView(v)?[...v as never]:v), await r.lengths?.()); } catch (e) { console.log(f, JSON.stringify(o), String(e)); }
  }
});
