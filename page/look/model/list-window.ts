/** Which rows of a long list are in sight. */

export interface ListView {
  readonly rows: number;
  readonly rowHeight: number;
  readonly scrollTop: number;
  readonly viewHeight: number;
}

export interface ListWindow {
  /** Rows from … to - 1 are drawn. */
  readonly from: number;
  readonly to: number;
  /** Where the first of them stands, from the list's top; below 0 where it is out of sight. */
  readonly top: number;
  /** Of the whole list. */
  readonly height: number;
}

/** No browser takes a page that is higher by much: Firefox ends at 17.8 million pixels. */
export const MAX_HEIGHT = 8_000_000;

/** Rows beyond both edges. */
const SPARE = 4;

/** O(1). Where there are more rows than the highest list can have, a pixel of the bar is several rows. */
export function listWindow({ rows, rowHeight, scrollTop, viewHeight }: ListView): ListWindow {
  const height = Math.min(rows * rowHeight, MAX_HEIGHT);
  const first = rowAt({ rows, rowHeight, scrollTop, viewHeight });
  const from = Math.max(0, Math.floor(first) - SPARE);
  const to = Math.min(rows, Math.ceil(first + viewHeight / rowHeight) + SPARE);
  // The row at the upper edge is drawn there, however the bar is scaled: rows before it may stand above the list.
  return { from, to, top: Math.min(scrollTop, Math.max(0, height - viewHeight)) - (first - from) * rowHeight, height };
}

/** The row at the upper edge, with its fraction that is out of sight. */
function rowAt({ rows, rowHeight, scrollTop, viewHeight }: ListView): number {
  const height = Math.min(rows * rowHeight, MAX_HEIGHT);
  const range = Math.max(0, height - viewHeight);
  const share = range === 0 ? 0 : Math.min(1, Math.max(0, scrollTop / range));
  return share * Math.max(0, rows - viewHeight / rowHeight);
}

/** Where to scroll so that a row is in sight; as it is where it is already. */
export function scrollTo(row: number, view: ListView): number {
  const { rows, rowHeight, viewHeight, scrollTop } = view;
  const first = rowAt(view);
  const seen = viewHeight / rowHeight;
  if (row >= first && row + 1 <= first + seen) return scrollTop;
  const wanted = row < first ? row : row + 1 - seen;
  const range = Math.max(0, Math.min(rows * rowHeight, MAX_HEIGHT) - viewHeight);
  return rows <= seen ? 0 : (Math.max(0, wanted) / (rows - seen)) * range;
}
