/**
 * Fills the staging record of a writer, from which the core reads a step. Writers that append one step at a time share the engine's record. When a program
 * fills `staged` itself, its writer gets a separate record.
 */
import { blockOffsets, placeAddresses } from "../memory/block.ts";
import type { Engine, StepFiller } from "../memory/engine.ts";
import { Staging } from "../memory/staged.ts";
import { arrayOffsets } from "../schema/layout.ts";
import { type Visit, visitor } from "../schema/nest.ts";
import type { ResolvedWriterOptions } from "./rules.ts";

export class WriterRecord {
  /** The address of the step as a block of columns, if the lanes can have ends. */
  readonly blockAt: number;
  /** The address after the block, for flags that record how the episode of each lane ends with the step. */
  readonly endsAt: number;
  /** The number of NaN checks of the record's writer. */
  looks = 0;
  filler: StepFiller;
  readonly #engine: Engine;
  readonly #bytes: number;
  #isShared: boolean;

  /** @throws ReplayError OUT_OF_MEMORY */
  constructor(engine: Engine, { lanes, items }: ResolvedWriterOptions, isVector: boolean) {
    const { leaves } = engine.layout;
    this.#engine = engine;
    this.#isShared = lanes === 1 && !isVector;
    if (this.#isShared) {
      this.#bytes = engine.recordBytes;
      this.filler = engine.shareFiller();
      this.blockAt = this.filler.record;
      this.endsAt = this.blockAt + this.#bytes;
      return;
    }
    const offsets = lanes === 1 ? [...leaves.map((leaf) => leaf.staged), engine.layout.stagedBytes] : blockOffsets(leaves, items.length, lanes);
    const arrayAt = arrayOffsets(leaves, offsets, lanes, offsets.pop() as number);
    const stepBytes = arrayAt.pop() as number;
    const [head = 0] = isVector ? blockOffsets([], items.length + leaves.length, 1) : [];
    this.#bytes = stepBytes + head + lanes;
    const record = engine.stage(this.#bytes);
    this.blockAt = record + (isVector ? stepBytes : 0);
    this.endsAt = record + stepBytes + head;
    const addresses = offsets.map((offset) => record + offset);
    const arrays = arrayAt.map((offset) => record + offset);
    // If a column has one row, its address is the address of that row's value.
    if (isVector) placeAddresses(engine.core, this.blockAt, addresses);
    const [maker, lead] = lanes === 1 ? [engine.makeStep, []] : [engine.makeLanes, [lanes]];
    const staging = new Staging(engine.core, maker, record, leaves, addresses, arrays, lead, isVector, engine.onNaN);
    this.filler = { record, staging, fill: visitor(engine.spec, (i) => staging.setters[i] as Visit) };
  }

  /** Whether this record is the engine's record. */
  get isShared(): boolean {
    return this.#isShared;
  }

  /**
   * Switches to a separate record. Copies the step from the engine's record if that step certainly belongs to this writer.
   * @throws ReplayError OUT_OF_MEMORY
   */
  own(): StepFiller {
    const engine = this.#engine;
    const record = engine.stage(this.#bytes);
    const { record: shared } = this.filler;
    if (engine.isUnshared) engine.copyStep(shared, record);
    engine.unshareFiller();
    this.#isShared = false;
    this.filler = engine.fillerOf(record);
    return this.filler;
  }

  /** Releases the record. The caller may still use arrays of the record. */
  close(): void {
    const { record, staging } = this.filler;
    if (this.#isShared) {
      this.#engine.unshareFiller();
      return;
    }
    const { isBorrowed } = staging;
    staging.close();
    this.#engine.unstage(record, this.#bytes, isBorrowed);
  }
}
