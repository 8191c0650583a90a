/** Writes trajectories to a file: `TFRecordObserver` of TF-Agents. */
import { addSentence, flag, mustBe, onlyKeys, ReplayError } from "../../base/error.ts";
import { checkImages, type EncodeJpeg, elementsOf, exampleOf } from "../../datasets/formats/tfrecord/example-writer.ts";
import { featureLeaves } from "../../datasets/formats/tfrecord/features.ts";
import { checkPathInside, closedError, type FileSink, RecordFile } from "../../datasets/formats/tfrecord/record-file.ts";
import { type LeafTarget, mustPut } from "../../schema/copy-values.ts";
import type { NumberArray } from "../../schema/dtype.ts";
import { type Visit, visitor } from "../../schema/nest.ts";
import type { Spec, StepOf } from "../../schema/spec.ts";
import { Callable } from "../observers/callable.ts";

export interface TFRecordObserverOptions {
  /**
   * Whether a call passes one trajectory, as a PyDriver does. If false, a call passes a batch of one trajectory, in which every leaf has a leading dimension of
   * 1. Default: false.
   */
  readonly pyMode?: boolean;
  /**
   * A function that encodes images as JPEG. An image is a u8 leaf with three dimensions whose last dimension is 1 or 3. The function determines the quality,
   * and may reuse its memory. Default: no compression.
   */
  readonly compressImage?: EncodeJpeg;
  /** The folder of `outputPath`: a directory handle, a Map of files, or a custom folder. Default: the file system. */
  readonly to?: FileSink;
}

/**
 * An observer that appends one record per call to the file at `outputPath`, and writes the spec to a file with the same name plus `.spec`. Existing files are
 * overwritten, even through links. If a pipe, a device or a folder has one of these names, the next call throws `IO`. A call copies its values. It returns
 * undefined, or a promise if much data waits to be written. The file is complete after `close`.
 */
export class TFRecordObserver<S extends Spec = Spec> extends Callable<(data: StepOf<S>) => Promise<void> | undefined> {
  readonly outputPath: string;
  readonly #file: RecordFile;

  /**
   * Creates an observer.
   * @throws TypeError if an argument is invalid
   * @throws ReplayError SPEC_MISMATCH if TF-Agents cannot write a dtype or a shape, or cannot write an image as JPEG
   */
  constructor(outputPath: string, tensorDataSpec: S, options: TFRecordObserverOptions = {}) {
    const { pyMode = false, compressImage, to } = onlyKeys("options", options, "pyMode, compressImage, to");
    if (typeof outputPath !== "string" || outputPath === "") throw mustBe(TypeError, "outputPath", "the path of a file", outputPath);
    flag("pyMode", pyMode);
    if (compressImage !== undefined && typeof compressImage !== "function")
      throw mustBe(TypeError, "compressImage", "a function that encodes pixels as a JPEG", compressImage);
    const leaves = featureLeaves(tensorDataSpec, "tensorDataSpec");
    if (compressImage !== undefined) checkImages(leaves, "tensorDataSpec");
    if (to !== undefined) checkPathInside(outputPath);
    let data: NumberArray[] = [];
    const visitorOf = (isBatch: boolean): Visit =>
      visitor(tensorDataSpec, (i, keys) => {
        const { dtype, shape, size } = leaves[i] as (typeof leaves)[number];
        const target: LeafTarget = { dtype, shape: isBatch ? [1, ...shape] : shape, size };
        return (value) => mustPut(target, data[i] as NumberArray, 0, value, keys, { columns: true });
      });
    const visit = visitorOf(!pyMode);
    const file = new RecordFile(outputPath, to, tensorDataSpec);
    super((trajectory) => {
      if (file.isClosed) throw closedError(outputPath);
      data = leaves.map(elementsOf);
      try {
        visit(trajectory);
      } catch (error) {
        throw fits(visitorOf(pyMode), trajectory) ? modeError(error, pyMode) : error;
      }
      return file.add(exampleOf(leaves, data, compressImage));
    });
    this.outputPath = outputPath;
    this.#file = file;
  }

  /** Appends a record, like a call to the observer. */
  write(data: StepOf<S>): Promise<void> | undefined {
    return (this as unknown as (data: StepOf<S>) => Promise<void> | undefined)(data);
  }

  /** Resolves when all records are written. @throws RldsError IO if a file cannot be written */
  flush(): Promise<void> {
    return this.#file.flush();
  }

  /** Writes the remaining records and closes the file. @throws RldsError IO if a file cannot be written */
  close(): Promise<void> {
    return this.#file.close();
  }
}

function fits(visit: Visit, value: unknown): boolean {
  try {
    visit(value);
    return true;
  } catch {
    return false;
  }
}

/** Returns the error for data that would be valid in the other mode. */
function modeError(error: unknown, pyMode: boolean): unknown {
  if (!(error instanceof ReplayError)) return error;
  const remedy = pyMode
    ? "Omit pyMode if each leaf has a leading dimension of 1"
    : "Set pyMode: true if a call passes one trajectory without a batch dimension";
  return new ReplayError(error.code, addSentence(error.message, remedy));
}
