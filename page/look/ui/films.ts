/** Shows images of an episode as film: pixels, or encoded images decoded by the browser. */
import { h } from "../../parts/element.ts";
import type { EpisodeData } from "../messages.ts";
import type { LeafColumn } from "../model/columns.ts";
import { type FilmForm, fillPixels, filmForm, kindOf } from "../model/leaf-kinds.ts";
import type { StepView } from "./player.ts";

export function films({ columns }: EpisodeData, signal: AbortSignal): StepView[] {
  return columns.flatMap((column) => {
    const form = filmForm(column);
    if (form !== undefined) return [ofPixels(column, form)];
    return kindOf(column) === "encoded" && column.size === 1 && isImage(column.data[0]) ? [ofEncoded(column, signal)] : [];
  });
}

function ofPixels({ path, data }: LeafColumn, form: FilmForm): StepView {
  const canvas = canvasFor(path, form.width, form.height);
  const context = canvas.getContext("2d") as CanvasRenderingContext2D;
  const image = context.createImageData(form.width, form.height);
  return {
    element: figureOf(path, canvas),
    show(step) {
      fillPixels(form, data as ArrayLike<number>, step, image.data);
      context.putImageData(image, 0, 0);
    },
  };
}

/** Detects the signatures of PNG and JPEG. */
function isImage(value: unknown): boolean {
  if (!(value instanceof Uint8Array)) return false;
  return (value[0] === 0x89 && value[1] === 0x50 && value[2] === 0x4e) || (value[0] === 0xff && value[1] === 0xd8);
}

function ofEncoded({ path, data }: LeafColumn, signal: AbortSignal): StepView {
  const canvas = canvasFor(path, 1, 1);
  const context = canvas.getContext("2d") as CanvasRenderingContext2D;
  const fault = h("p", { class: "note", hidden: true });
  let wanted = 0;
  let busy = false;
  const draw = async () => {
    // Frames that arrived in the meantime are skipped.
    for (busy = true; !signal.aborted; ) {
      const step = wanted;
      try {
        const bitmap = await createImageBitmap(new Blob([data[step] as Uint8Array<ArrayBuffer>]));
        [canvas.width, canvas.height] = [bitmap.width, bitmap.height];
        context.drawImage(bitmap, 0, 0);
        bitmap.close();
        fault.hidden = true;
      } catch {
        fault.textContent = `The image of step ${step} cannot be decoded.`;
        fault.hidden = false;
      }
      if (step === wanted) break;
    }
    busy = false;
  };
  return {
    element: figureOf(path, canvas, fault),
    show(step) {
      wanted = step;
      if (!busy) void draw();
    },
  };
}

function canvasFor(path: string, width: number, height: number): HTMLCanvasElement {
  return h("canvas", { width, height, role: "img", "aria-label": `${path} at this step` });
}

function figureOf(path: string, ...content: readonly HTMLElement[]): HTMLElement {
  return h("figure", {}, ...content, h("figcaption", {}, path));
}
