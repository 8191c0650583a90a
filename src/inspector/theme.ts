/** Reads the current colours as values, which canvases need. A page may set the colours, and they differ between dark and light mode. */

export interface Theme {
  readonly ink: string;
  readonly line: string;
  readonly accent: string;
  readonly series: readonly string[];
}

export function themeOf(element: Element): Theme {
  const style = getComputedStyle(element);
  const color = (name: string, fallback: string) => style.getPropertyValue(name).trim() || fallback;
  const accent = color("--inspector-accent", "#2563eb");
  const colors = ["#d97706", "#16a34a", "#dc2626", "#7c3aed", "#0891b2", "#db2777", "#65a30d"];
  return { ink: color("--inspector-ink", "gray"), line: color("--inspector-line", "silver"), accent, series: [accent, ...colors] };
}

const PLOTS = `
.uplot { position: relative; width: min-content; font-family: inherit; }
.u-wrap { position: relative; user-select: none; }
.u-over, .u-under, .u-axis { position: absolute; }
.u-under { overflow: hidden; }
.uplot canvas { display: block; position: relative; width: 100%; height: 100%; }
.u-select, .u-off { display: none; }
`;

const STYLE = `
:host {
  --inspector-back: #ffffff; --inspector-card: #f6f7f9; --inspector-ink: #1f2937; --inspector-soft: #4b5563;
  --inspector-line: #d6dae1; --inspector-accent: #2563eb; --inspector-warn: #b45309;
  color-scheme: light dark; display: block; container-type: inline-size;
  color: var(--inspector-ink); background: var(--inspector-back); font: 14px/1.4 system-ui, sans-serif;
}
@media (prefers-color-scheme: dark) {
  :host {
    --inspector-back: #14171c; --inspector-card: #1d222a; --inspector-ink: #e5e9f0; --inspector-soft: #aab3c0;
    --inspector-line: #3a424f; --inspector-accent: #6ea8fe; --inspector-warn: #fbbf24;
  }
}
:host([hidden]) { display: none; }
* { box-sizing: border-box; }
.root { display: grid; gap: 10px; padding: 10px; min-width: 0; }
.bar { display: flex; flex-wrap: wrap; gap: 6px 8px; align-items: center; }
.bar h2 { font-size: 16px; margin: 0; flex: 1 1 auto; }
.status { margin: 0; color: var(--inspector-soft); flex: 1 1 100%; overflow-wrap: anywhere; }
.status.wrong { color: var(--inspector-warn); font-weight: 600; }
.grid { display: grid; gap: 10px; grid-template-columns: repeat(auto-fill, minmax(min(100%, 230px), 1fr)); }
.panel { margin: 0; padding: 8px; background: var(--inspector-card); border: 1px solid var(--inspector-line); border-radius: 6px; min-width: 0; }
.wide { grid-column: 1 / -1; }
.panel h3, figcaption { font-size: 14px; font-weight: 600; margin: 0 0 4px; }
.summary { margin: 4px 0 0; color: var(--inspector-soft); font-size: 12px; overflow-wrap: anywhere; min-height: 1.4em; }
.plot { min-height: 20px; overflow: hidden; }
button, select, input { font: inherit; color: inherit; background: var(--inspector-back); border: 1px solid var(--inspector-line); border-radius: 4px; padding: 3px 9px; min-height: 30px; max-width: 100%; }
button { cursor: pointer; }
button:disabled { opacity: 0.5; cursor: default; }
input[type="number"] { width: 9em; }
button:focus-visible, select:focus-visible, input:focus-visible, summary:focus-visible, [tabindex]:focus-visible { outline: 2px solid var(--inspector-accent); outline-offset: 1px; }
label { display: inline-flex; gap: 6px; align-items: center; }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 95px), 1fr)); gap: 4px 10px; margin: 6px 0 0; }
.wide dl { grid-template-columns: repeat(auto-fill, minmax(min(100%, 140px), 1fr)); }
.panel div + div > h3 { margin-top: 8px; }
dt { color: var(--inspector-soft); font-size: 12px; }
dd { margin: 0; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
meter { width: 100%; height: 12px; display: block; }
.scroll { overflow: auto; max-height: 320px; }
table { border-collapse: collapse; width: 100%; font-size: 12px; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--inspector-soft); padding: 4px 0; }
th, td { text-align: left; padding: 2px 8px 2px 0; border-bottom: 1px solid var(--inspector-line); white-space: nowrap; }
details { font-size: 12px; overflow: auto; max-height: 260px; }
summary { cursor: pointer; color: var(--inspector-soft); }
pre { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; font: 12px/1.4 ui-monospace, monospace; max-height: 200px; overflow: auto; }
.frames { display: flex; flex-wrap: wrap; gap: 6px; }
.frames figure { margin: 0; }
.frames canvas { image-rendering: pixelated; border: 1px solid var(--inspector-line); display: block; max-width: 100%; height: auto; }
.frames figcaption { font-size: 11px; font-weight: 400; color: var(--inspector-soft); margin: 0; }
.leaf { border-top: 1px solid var(--inspector-line); padding-top: 6px; margin-top: 6px; min-width: 0; }
.leaf h4 { margin: 0 0 4px; font-size: 13px; overflow-wrap: anywhere; }
.leaf h4 span { color: var(--inspector-soft); font-weight: 400; }
`;

let sheet: CSSStyleSheet | undefined;

/** Returns the inspector's shared style sheet. A style sheet works even if a policy forbids styles in the page's markup. */
export function styleSheet(): CSSStyleSheet {
  if (sheet === undefined) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLE + PLOTS);
  }
  return sheet;
}
