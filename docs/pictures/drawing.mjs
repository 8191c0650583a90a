/** Drawings as SVG. Each colour stands in an attribute, for viewers that read no style sheet, and a style sheet replaces it in dark mode. */

/** A role's colour in light and in dark mode. */
export const COLOURS = {
  paper: ["#ffffff", "#0d1117"],
  cell: ["#f6f8fa", "#161b22"],
  ink: ["#1f2328", "#e6edf3"],
  dim: ["#59636e", "#9198a1"],
  line: ["#818b98", "#6e7681"],
  grid: ["#d1d9e0", "#30363d"],
  step: ["#ddf4ff", "#12395b"],
  last: ["#fff1c2", "#4d3b00"],
  green: ["#1a7f37", "#3fb950"],
  violet: ["#8250df", "#a371f7"],
  pink: ["#bf3989", "#f778ba"],
  orange: ["#bc4c00", "#f0883e"],
  blue: ["#0969da", "#4493f8"],
  red: ["#cf222e", "#f85149"],
};

const SANS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif";
const MONO = "ui-monospace, 'SF Mono', Menlo, 'Liberation Mono', monospace";

/** The style sheet of dark mode: a class for each role, as a fill and as a stroke. */
function darkMode() {
  const rules = Object.entries(COLOURS).map(([role, [, dark]]) => `.f-${role}{fill:${dark}}.s-${role}{stroke:${dark}}`);
  return `@media (prefers-color-scheme: dark){${rules.join("")}}`;
}

const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
const round = (number) => String(Math.round(number * 10) / 10);

/** The attributes of a fill and a stroke: the light colours, and the classes that dark mode selects. */
function painted({ fill, stroke }) {
  const classes = [fill && `f-${fill}`, stroke && `s-${stroke}`].filter(Boolean).join(" ");
  const colours = `fill="${fill ? COLOURS[fill][0] : "none"}"${stroke ? ` stroke="${COLOURS[stroke][0]}"` : ""}`;
  return `${colours} class="${classes}"`;
}

export class Drawing {
  #parts = [];

  /** @param title the name of the picture @param description the same in words, for readers who do not see it */
  constructor(width, height, title, description) {
    Object.assign(this, { width, height, title, description });
    this.rect(0, 0, width, height, { fill: "paper", rx: 8 });
  }

  rect(x, y, width, height, { fill, stroke, rx = 0, dash, strokeWidth = 1 } = {}) {
    const more = `${stroke ? ` stroke-width="${strokeWidth}"` : ""}${dash ? ` stroke-dasharray="${dash}"` : ""}`;
    const box = `x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" rx="${rx}"`;
    this.#parts.push(`<rect ${box} ${painted({ fill, stroke })}${more}/>`);
    return this;
  }

  /** @param anchor start, middle or end: which part of the text is at x */
  text(x, y, text, { fill = "ink", size = 13, weight = 400, anchor = "start", mono = false } = {}) {
    const family = mono ? ` font-family="${MONO}"` : "";
    const font = `font-size="${size}" font-weight="${weight}" text-anchor="${anchor}"${family}`;
    this.#parts.push(`<text x="${round(x)}" y="${round(y)}" ${font} ${painted({ fill })}>${escaped(text)}</text>`);
    return this;
  }

  path(data, { stroke = "line", fill, width = 1.5, dash } = {}) {
    const more = dash ? ` stroke-dasharray="${dash}"` : "";
    this.#parts.push(`<path d="${data}" ${painted({ fill, stroke })} stroke-width="${width}"${more}/>`);
    return this;
  }

  circle(x, y, radius, { fill, stroke } = {}) {
    this.#parts.push(`<circle cx="${round(x)}" cy="${round(y)}" r="${radius}" ${painted({ fill, stroke })}/>`);
    return this;
  }

  /** A line through points, with a tip at its end. */
  arrow(points, { stroke = "line", width = 1.5, dash } = {}) {
    const [[x0, y0], [x, y]] = points.slice(-2);
    const length = Math.hypot(x - x0, y - y0);
    const [dx, dy] = [(x - x0) / length, (y - y0) / length];
    const [tail, half] = [9, 5];
    const [baseX, baseY] = [x - tail * dx, y - tail * dy];
    const line = [...points.slice(0, -1), [baseX, baseY]];
    this.path(`M${line.map((point) => point.map(round).join(" ")).join("L")}`, { stroke, width, dash });
    const corners = [
      [x, y],
      [baseX - half * dy, baseY + half * dx],
      [baseX + half * dy, baseY - half * dx],
    ];
    const tip = corners.map((point) => point.map(round).join(","));
    this.#parts.push(`<polygon points="${tip.join(" ")}" ${painted({ fill: stroke })}/>`);
    return this;
  }

  toString() {
    const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${this.width} ${this.height}" width="${this.width}" height="${this.height}"`;
    const named = `<title id="title">${escaped(this.title)}</title>\n<desc id="description">${escaped(this.description)}</desc>`;
    const parts = [named, `<style>${darkMode()}</style>`, ...this.#parts].join("\n");
    return `${head} role="img" aria-labelledby="title description" font-family="${SANS}">\n${parts}\n</svg>\n`;
  }
}
