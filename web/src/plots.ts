// Figures of `teetotal reproduce`: curves over a logarithmic scale, each with a dash and a mark of its own, so that nobody
// needs colours to tell them apart.

import type { Plot } from "./answers";
import { h, section } from "./dom";

const NS = "http://www.w3.org/2000/svg";
const WIDTH = 640;
const HEIGHT = 360;
const LEFT = 70;
const RIGHT = 130;
const TOP = 12;
const BOTTOM = 44;
const MARKS = ["●", "■", "◆", "▲", "▼", "✕"];
const DASHES = ["", "6 3", "2 3", "8 3 2 3", "1 2", "10 4"];

export function plots(all: Plot[]): HTMLElement[] {
  return all.map((plot) => section(plot.title, h("figure", { class: "chart plot" },
    h("figcaption", {}, `${plot.up} (logarithmic), by ${plot.across}`), drawn(plot) as unknown as HTMLElement)));
}

function drawn(plot: Plot): SVGElement {
  const curves = Object.entries(plot.curves);
  const points = curves.flatMap(([, curve]) => curve);
  const across = [...new Set(points.map(([x]) => x))].sort((a, b) => a - b);
  const least = Math.min(...points.map(([, y]) => y).filter((y) => y > 0), 1);
  const most = Math.max(...points.map(([, y]) => y), least);
  const low = Math.floor(Math.log10(least));
  const high = Math.max(Math.ceil(Math.log10(most)), low + 1);
  const span = (across[across.length - 1] ?? 1) - (across[0] ?? 0) || 1;
  const x = (value: number): number => LEFT + ((value - across[0]) / span) * (WIDTH - LEFT - RIGHT);
  const y = (value: number): number =>
    HEIGHT - BOTTOM - ((Math.log10(Math.max(value, least)) - low) / (high - low)) * (HEIGHT - TOP - BOTTOM);
  const svg = document.createElementNS(NS, "svg");
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `${plot.title}. ${curves.map(([name, curve]) => `${name}: ${curve.map(([at, value]) => `${value} at ${at}`).join(", ")}`).join("; ")}`);
  const put = (tag: string, attributes: Record<string, string | number>, text?: string): void => {
    const element = document.createElementNS(NS, tag);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
    if (text !== undefined) element.textContent = text;
    svg.append(element);
  };
  for (let power = low; power <= high; power++) {
    put("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(10 ** power), y2: y(10 ** power), class: "grid" });
    put("text", { x: LEFT - 8, y: y(10 ** power) + 4, "text-anchor": "end", class: "figure" }, String(10 ** power));
  }
  for (const value of across) put("text", { x: x(value), y: HEIGHT - BOTTOM + 18, "text-anchor": "middle", class: "figure" }, value.toLocaleString("en"));
  put("text", { x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 6, "text-anchor": "middle" }, plot.across);
  curves.forEach(([name, curve], which) => {
    put("polyline", { points: curve.map(([at, value]) => `${x(at)},${y(value)}`).join(" "), class: "curve", "stroke-dasharray": DASHES[which % DASHES.length] });
    for (const [at, value] of curve) put("text", { x: x(at), y: y(value) + 4, "text-anchor": "middle", class: "point" }, MARKS[which % MARKS.length]);
    put("text", { x: WIDTH - RIGHT + 12, y: TOP + 14 + which * 18 }, `${MARKS[which % MARKS.length]} ${name}`);
  });
  return svg;
}
