/** Combines the options with which a source of a mixture draws its part of a batch. */

import type { ParsedOptions, SampleOptions } from "../options.ts";
import type { Part } from "../part-buffer.ts";

/** Options that apply to one source only. */
export type SourceOptions = Pick<SampleOptions, "replacement" | "among" | "stratified">;

/** The options of one source: the options of the call and the source's own options. */
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

  /** Combines the parsed options of a call with the options of the source. */
  take(call: ParsedOptions, own: SourceOptions): this {
    // The value of beta is passed separately, because V8 would allocate memory for a fraction in a field.
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
    // The weights of the whole batch are divided later by the largest weight.
    this.normalize = call.normalize === "batch" ? "none" : call.normalize;
    return this;
  }
}
