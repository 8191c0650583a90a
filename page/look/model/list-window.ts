/** Computes the visible rows of a long list. */

export interface ListView {
  readonly rows: number;
  readonly rowHeight: number;
  readonly scrollTop: number;
  readonly viewHeight: number;
}

export interface ListWindow {
  /** The rows `from` … `to` - 1 are drawn. */
  readonly from: number;
  readonly to: number;
  /** The top of the first drawn row, relative to the list; negative if that row begins above the list. */
  readonly top: number;
  /** The height of the whole list. */
  readonly height: number;
}

/** The maximum height of a list in pixels, because browsers limit the height of an element: Firefox to 17.8 million pixels. */
export const MAX_HEIGHT = 8_000_000;

/** The number of rows drawn beyond each edge. */
const SPARE = 4;

/** Computes the visible rows. O(1). If the list has more rows than its maximum height allows, one pixel of the scroll bar represents several rows. */
export function listWindow({ rows, rowHeight, scrollTop, viewHeight }: ListView): ListWindow {
  const height = Math.min(rows * rowHeight, MAX_HEIGHT);
  const first = rowAt({ rows, rowHeight, scrollTop, viewHeight });
  const from = Math.max(0, Math.floor(first) - SPARE);
  const to = Math.min(rows, Math.ceil(first + viewHeight / rowHeight) + SPARE);
  // The first visible row is drawn at the upper edge, however the scroll bar is scaled, so earlier rows may be above the list.
  return { from, to, top: Math.min(scrollTop, Math.max(0, height - viewHeight)) - (first - from) * rowHeight, height };
}

/** Returns the number of the row at the upper edge, plus the fraction of that row above the edge. */
function rowAt({ rows, rowHeight, scrollTop, viewHeight }: ListView): number {
  const height = Math.min(rows * rowHeight, MAX_HEIGHT);
  const range = Math.max(0, height - viewHeight);
  const share = range === 0 ? 0 : Math.min(1, Math.max(0, scrollTop / range));
  return share * Math.max(0, rows - viewHeight / rowHeight);
}

/** Returns the scroll position that shows a row; unchanged if it is visible already. */
export function scrollTo(row: number, view: ListView): number {
  const { rows, rowHeight, viewHeight, scrollTop } = view;
  const first = rowAt(view);
  const seen = viewHeight / rowHeight;
  if (row >= first && row + 1 <= first + seen) return scrollTop;
  const wanted = row < first ? row : row + 1 - seen;
  const range = Math.max(0, Math.min(rows * rowHeight, MAX_HEIGHT) - viewHeight);
  return rows <= seen ? 0 : (Math.max(0, wanted) / (rows - seen)) * range;
}
