// Tables of `teetotal reproduce` and of benchmarks: the numbers, and bars of ours beside the paper's.

import type { Row } from "./answers";
import { h, section, table } from "./dom";

const NS = "http://www.w3.org/2000/svg";

export function tables(rows: Row[]): HTMLElement[] {
  const named = new Map<string, Row[]>();
  for (const row of rows) named.set(row.table, [...(named.get(row.table) ?? []), row]);
  return [...named].map(([name, own]) => {
    const columns = own[0].columns;
    const cells = own.map((row) => row.row.map((cell) => (typeof cell === "number" ? cell.toLocaleString("en") : String(cell ?? ""))));
    return section(own[0].title ? `${name}: ${own[0].title}` : name, ...charts(own), table(columns, cells));
  });
}

/** A chart for each number of ours that the paper has too, or, without a paper, for each column of numbers. */
function charts(rows: Row[]): HTMLElement[] {
  const columns = rows[0].columns;
  const split = columns.findIndex((name) => name.startsWith("paper"));
  const ours = columns.slice(0, split < 0 ? undefined : split);
  const theirs = split < 0 ? [] : columns.slice(split).map((name) => name.replace(/^paper: ?/, ""));
  const words = rows[0].row.findIndex((cell) => typeof cell === "number"); // what a row is about stands before its numbers
  const label = (row: Row): string => row.row.slice(0, words).join(" ") + suffix(row, ours);
  const made: HTMLElement[] = [];
  ours.forEach((name, i) => {
    const there = theirs.indexOf(name);
    if (split >= 0 && there < 0) return;
    const values = rows.map((row) => [row.row[i], there < 0 ? undefined : row.row[split + there]]);
    if (!values.some(([own]) => typeof own === "number")) return;
    made.push(chart(name, rows.map(label), values, there >= 0));
  });
  return made;
}

const suffix = (row: Row, ours: string[]): string => {
  const bound = ours.indexOf("preemptions");
  return bound < 0 ? "" : ` (${row.row[bound]} preemptions)`;
};

function chart(title: string, labels: string[], values: unknown[][], paper: boolean): HTMLElement {
  const numbers = values.flat().filter((value): value is number => typeof value === "number" && value > 0);
  const most = Math.max(...numbers, 1);
  const least = Math.min(...numbers, most);
  const logarithmic = most / least > 200;
  const width = (value: unknown): number => {
    if (typeof value !== "number" || value <= 0) return 0;
    return logarithmic ? 6 + (394 * Math.log(value / least)) / Math.log(most / least) : (400 * value) / most;
  };
  const height = labels.length * 30 + 8;
  const svg = document.createElementNS(NS, "svg");
  svg.setAttribute("viewBox", `0 0 760 ${height}`);
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `${title}: ${labels.map((label, i) => `${label} ${values[i].filter((value) => value !== undefined).join(" against ")}`).join("; ")}`);
  const put = (tag: string, attributes: Record<string, string | number>, text?: string): void => {
    const element = document.createElementNS(NS, tag);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
    if (text !== undefined) element.textContent = text;
    svg.append(element);
  };
  labels.forEach((label, i) => {
    put("text", { x: 250, y: i * 30 + 19, "text-anchor": "end" }, label);
    values[i].forEach((value, which) => {
      if (value === undefined) return;
      const y = i * 30 + 4 + which * 12;
      put("rect", { x: 260, y, width: width(value), height: paper ? 10 : 20, class: which ? "theirs" : "ours" });
      put("text", { x: 266 + width(value), y: y + (paper ? 9 : 14), class: "figure" }, typeof value === "number" ? value.toLocaleString("en") : String(value ?? ""));
    });
  });
  return h("figure", { class: "chart" },
    h("figcaption", {}, `${title}${logarithmic ? " (logarithmic)" : ""}${paper ? ": ours above, the paper's below" : ""}`), svg as unknown as HTMLElement);
}
