/** The options by which a source of a mixture draws its part of a batch. */

import type { ParsedOptions, SampleOptions } from "../options.ts";
import type { Part } from "../part-buffer.ts";

/** Options of draws from one source alone. */
export type SourceOptions = Pick<SampleOptions, "replacement" | "among" | "stratified">;

/** The options of one source: those of the call, and its own. */
export class PartOptions {
  into: Part;
  beta: number | undefined;
  among: SampleOptions["among"];
  replacement = true;
  stratified = false;
  length: number | undefined;
  offset: SampleOptions["offset"];
  cross = true;
  columns: object | undefined;
  nStep: SampleOptions["nStep"];
  mask: boolean | undefined;
  normalize: SampleOptions["normalize"];

  constructor(part: Part) {
    this.into = part;
  }

  /** Takes those of a call, which were read, and those of the source. */
  take(call: ParsedOptions, own: SourceOptions): this {
    // The value of beta goes its own way: in a field, a fraction would be allocated.
    this.beta = call.hasBeta ? 1 : undefined;
    this.among = own.among ?? call.amongOption;
    this.replacement = own.replacement ?? call.replacement;
    this.stratified = own.stratified ?? call.stratified;
    this.length = call.length;
    this.offset = call.offset;
    this.cross = call.cross;
    this.columns = call.columns;
    this.nStep = call.returns;
    this.mask = call.mask;
    // The weights of the whole batch are divided by the largest of them.
    this.normalize = call.normalize === "batch" ? "none" : call.normalize;
    return this;
  }
}
