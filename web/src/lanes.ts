// A lane per thread, time downwards. Only what can be seen is in the document, however long the execution is.

import { select, type Selection } from "d3-selection";
import { zoom, zoomIdentity, type D3ZoomEvent, type ZoomTransform } from "d3-zoom";
import type { Reason } from "./answers";
import { h } from "./dom";

export interface Mark {
  row: number;
  lane: number;
  label: string;
  title: string;
  kind: "event" | "commit" | "step";
  cycle?: boolean;
}

export interface Link {
  from: number;
  to: number;
  reason: Reason;
  title: string;
  cycle?: boolean;
}

/** A store in its thread's buffer, from row to row. */
export interface Bar {
  lane: number;
  from: number;
  to: number;
  title: string;
}

export interface Lanes {
  element: HTMLElement;
  /** Marks the row as the one that is told, and later ones as yet to come. -1: nothing has happened. */
  show(row: number, follow?: boolean): void;
  filter(reasons: Set<Reason>): void;
}

const ROW = 30;
const LANE = 214;
const TOP = 34;
const LEFT = 36;
const SMALLEST = 0.4; // a mark can still be read, and few enough of them fit
const BOX = { width: 162, height: 22 };

type Layer = Selection<SVGGElement, unknown, null, undefined>;

export function lanes(
  label: string,
  names: string[],
  marks: Mark[],
  links: Link[],
  bars: Bar[],
  onPick: (row: number) => void,
  onReason: (text: string) => void,
): Lanes {
  const rows = marks.reduce((most, mark) => Math.max(most, mark.row + 1), 0);
  const element = h("div", { class: "lanes", tabindex: 0, role: "group", "aria-label": label });
  element.style.height = `${Math.max(240, Math.min(520, TOP + rows * ROW + 24))}px`;
  const svg = select(element).append("svg").attr("role", "img").attr("aria-label", label);
  const world = svg.append("g");
  const grid = world.append("g");
  const barLayer = world.append("g");
  const linkLayer = world.append("g");
  const markLayer = world.append("g");
  const head = svg.append("g").attr("class", "head");
  let transform: ZoomTransform = zoomIdentity;
  let current = -1;
  let shown = new Set<Reason>(["po", "src", "co", "fr"]);
  let pending = 0;
  let following = true;
  let fitted = false;

  const x = (lane: number): number => LEFT + lane * LANE + LANE / 2;
  const y = (row: number): number => row * ROW + ROW / 2; // below the names, which stay where they are

  const behaviour = zoom<SVGSVGElement, unknown>()
    .scaleExtent([SMALLEST, 3])
    .filter((event: MouseEvent | WheelEvent) => (event.type === "wheel" ? event.ctrlKey : event.button === 0))
    .on("zoom", (event: D3ZoomEvent<SVGSVGElement, unknown>) => {
      transform = event.transform;
      later();
    });
  svg.call(behaviour).on("dblclick.zoom", null);
  svg.on("wheel.pan", (event: WheelEvent) => {
    if (event.ctrlKey) return;
    const before = transform;
    svg.call(behaviour.translateBy, -event.deltaX / transform.k, -event.deltaY / transform.k);
    if (transform.x !== before.x || transform.y !== before.y) event.preventDefault(); // else the page scrolls on
  });

  function bounds(): void {
    behaviour.translateExtent([
      [0, 0],
      [
        Math.max(LEFT + names.length * LANE + 20, element.clientWidth / SMALLEST),
        Math.max(rows * ROW + TOP + 30, element.clientHeight / SMALLEST),
      ],
    ]);
  }

  function later(): void {
    if (!pending) pending = requestAnimationFrame(draw);
  }

  function draw(): void {
    pending = 0;
    const { k, x: tx, y: ty } = transform;
    const height = element.clientHeight || 400;
    const first = Math.max(0, Math.floor(-ty / k / ROW) - 1);
    const last = Math.min(rows - 1, Math.ceil((height - TOP - ty) / k / ROW) + 1);
    const within = (a: number, b: number): boolean => Math.min(a, b) <= last && Math.max(a, b) >= first;
    world.attr("transform", `translate(${tx},${ty + TOP})scale(${k})`);
    head.attr("transform", `translate(${tx},0)scale(${k},1)`);

    drawHead(head, names, x, k);
    grid
      .selectAll<SVGLineElement, number>("line")
      .data(names.map((_, lane) => lane))
      .join("line")
      .attr("class", "rail")
      .attr("x1", x).attr("x2", x)
      .attr("y1", Math.max(0, y(first) - ROW)).attr("y2", y(last) + ROW);
    grid
      .selectAll<SVGTextElement, number>("text")
      .data(Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => first + i))
      .join("text")
      .attr("class", (row) => (row === current ? "number current" : "number"))
      .attr("x", 8)
      .attr("y", (row) => y(row) + 4)
      .text((row) => row + 1);

    barLayer
      .selectAll<SVGLineElement, Bar>("line")
      .data(bars.filter((bar) => within(bar.from, bar.to)), (bar) => `${bar.lane}.${bar.from}`)
      .join((enter) => {
        const line = enter.append("line").attr("class", "bar");
        line.append("title").text((bar) => bar.title);
        return line;
      })
      .classed("later", (bar) => bar.from > current)
      .attr("x1", (bar) => x(bar.lane) + BOX.width / 2 + 6)
      .attr("x2", (bar) => x(bar.lane) + BOX.width / 2 + 6)
      .attr("y1", (bar) => y(bar.from))
      .attr("y2", (bar) => y(bar.to));

    const seen = links.filter(
      (link) => (link.cycle || shown.has(link.reason)) && within(marks[link.from].row, marks[link.to].row),
    );
    drawLinks(linkLayer, seen, (mark) => [x(marks[mark].lane), y(marks[mark].row)], onReason);
    drawMarks(markLayer, marks, marksBetween(first, last), current, x, y, onPick);
  }

  // Marks are in the order of their rows, several of them in one.
  function marksBetween(first: number, last: number): number[] {
    let low = 0;
    let high = marks.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (marks[middle].row < first) low = middle + 1;
      else high = middle;
    }
    const found = [];
    for (let i = low; i < marks.length && marks[i].row <= last; i++) found.push(i);
    return found;
  }

  function show(row: number, follow = true): void {
    current = row;
    following = follow;
    if (fitted && follow && row >= 0) bringIntoView(row); // before that it has no size, and nowhere to be
    later();
  }

  /** Down to the row, and sideways to its lane, each only where it cannot be seen. */
  function bringIntoView(row: number): void {
    const { clientWidth: width, clientHeight: height } = element;
    const { k } = transform;
    const mark = marks[marksBetween(row, row)[0] ?? 0];
    const across = mark ? x(mark.lane) * k + transform.x : width / 2;
    const down = TOP + y(row) * k + transform.y;
    const beside = across < (BOX.width / 2) * k || across > width - (BOX.width / 2) * k;
    const beyond = down < TOP + ROW || down > height - ROW;
    if (!beside && !beyond) return;
    svg.call(
      behaviour.translateTo,
      beside ? x(mark.lane) : (width / 2 - transform.x) / k,
      beyond ? y(row) : (height / 2 - transform.y) / k,
    );
  }

  new ResizeObserver(() => {
    svg.attr("width", element.clientWidth).attr("height", element.clientHeight);
    bounds();
    if (!fitted && element.clientWidth) {
      fitted = true;
      const whole = element.clientWidth / (LEFT + names.length * LANE);
      if (whole < 1) svg.call(behaviour.scaleTo, Math.max(whole, SMALLEST), [0, 0]);
      show(current, following);
    }
    later();
  }).observe(element);

  return {
    element,
    show,
    filter(reasons: Set<Reason>): void {
      shown = reasons;
      later();
    },
  };
}

/** The heads of arrows, once for all lanes of the page. */
export function defineArrows(): void {
  const defs = select(document.body).append("svg").attr("class", "definitions").attr("aria-hidden", "true").append("defs");
  for (const reason of ["po", "src", "co", "fr"]) {
    defs
      .append("marker")
      .attr("id", `arrow-${reason}`)
      .attr("viewBox", "0 0 8 8").attr("refX", 7).attr("refY", 4)
      .attr("markerUnits", "userSpaceOnUse").attr("markerWidth", 11).attr("markerHeight", 11).attr("orient", "auto-start-reverse")
      .append("path").attr("d", "M0,0L8,4L0,8z").attr("class", `arrow ${reason}`);
  }
}

function drawHead(head: Layer, names: string[], x: (lane: number) => number, k: number): void {
  head
    .selectAll<SVGRectElement, number>("rect")
    .data([0])
    .join("rect")
    .attr("x", -1e5).attr("width", 2e5).attr("height", TOP - 6);
  head
    .selectAll<SVGTextElement, string>("text")
    .data(names)
    .join("text")
    .attr("transform", (_, lane) => `translate(${x(lane)},19)scale(${1 / k},1)`)
    .text((name) => name);
}

function drawLinks(layer: Layer, links: Link[], at: (mark: number) => [number, number], onReason: (text: string) => void): void {
  const path = (link: Link): string => {
    const [x1, y1] = at(link.from);
    const [x2, y2] = at(link.to);
    if (x1 === x2) {
      const side = x1 - BOX.width / 2;
      const bulge = 14 + Math.min(40, Math.abs(y2 - y1) / 8);
      return `M${side},${y1}C${side - bulge},${y1} ${side - bulge},${y2} ${side - 2},${y2}`;
    }
    const way = Math.sign(x2 - x1);
    const from = x1 + (way * BOX.width) / 2;
    const to = x2 - (way * BOX.width) / 2 - way * 2;
    const middle = (from + to) / 2;
    return `M${from},${y1}C${middle},${y1} ${middle},${y2} ${to},${y2}`;
  };
  layer
    .selectAll<SVGPathElement, Link>("path")
    .data(links, (link) => `${link.from}-${link.to}-${link.reason}-${link.cycle ?? ""}`)
    .join((enter) => {
      const line = enter.append("path").attr("marker-end", (link) => `url(#arrow-${link.reason})`);
      line.append("title").text((link) => link.title);
      return line.on("pointerenter", (_: unknown, link: Link) => onReason(link.title));
    })
    .attr("class", (link) => `link ${link.reason}${link.cycle ? " cycle" : ""}`)
    .attr("d", path);
  layer
    .selectAll<SVGTextElement, Link>("text")
    .data(links.filter((link) => link.cycle), (link) => `${link.from}-${link.to}-${link.reason}`)
    .join("text")
    .attr("class", (link) => `reason ${link.reason}`)
    .attr("x", (link) => {
      const [[x1], [x2]] = [at(link.from), at(link.to)];
      return x1 === x2 ? x1 - BOX.width / 2 - 24 : x1 + Math.sign(x2 - x1) * (BOX.width / 2) + 0.3 * (x2 - x1 - Math.sign(x2 - x1) * BOX.width);
    })
    .attr("y", (link) => {
      const [[x1, y1], [x2, y2]] = [at(link.from), at(link.to)];
      return y1 + (x1 === x2 ? 0.5 : 0.22) * (y2 - y1) - 3; // nearer to its source, where fewer edges cross
    })
    .text((link) => (link.reason === "src" ? "rf" : link.reason));
}

const LONGEST = 25;
const shortened = (text: string): string => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text);

function drawMarks(
  layer: Layer,
  marks: Mark[],
  seen: number[],
  current: number,
  x: (lane: number) => number,
  y: (row: number) => number,
  onPick: (row: number) => void,
): void {
  layer
    .selectAll<SVGGElement, number>("g")
    .data(seen, (mark) => String(mark))
    .join((enter) => {
      const group = enter.append("g").on("click", (_: unknown, mark: number) => onPick(marks[mark].row));
      group.append("title").text((mark) => marks[mark].title);
      group
        .append("rect")
        .attr("x", -BOX.width / 2).attr("y", -BOX.height / 2)
        .attr("width", BOX.width).attr("height", BOX.height).attr("rx", (mark) => (marks[mark].kind === "commit" ? 11 : 4));
      group.append("text").attr("y", 4).text((mark) => shortened(marks[mark].label));
      return group;
    })
    .attr("class", (mark) => {
      const { kind, cycle, row } = marks[mark];
      return `mark ${kind}${cycle ? " cycle" : ""}${row === current ? " current" : row > current ? " later" : ""}`;
    })
    .attr("transform", (mark) => `translate(${x(marks[mark].lane)},${y(marks[mark].row)})`);
}
