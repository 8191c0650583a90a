/** Checks that `using` needs no library in the user's tsconfig. */
import { f32, Replay } from "reprise";

{
  using replay = new Replay({ spec: { x: f32() }, tables: { memory: { maxSize: 1 } } });
  using writer = replay.writer({ items: [{ table: "memory", length: 1 }] });
  writer.append({ x: 1 });
}
export async function kept(): Promise<void> {
  await using replay = await Replay.open({ dir: "runs/a" });
  await replay.flush();
}
