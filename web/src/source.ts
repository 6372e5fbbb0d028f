// The source beside the execution: lines of the cycle and of other events marked, proposed fences where they would stand.

import type { Answer, Fence, Violation } from "./answers";
import { h } from "./dom";

export interface SourcePane {
  element: HTMLElement;
  show(location?: [string, number]): void;
}

export function sourcePane(answer: Answer, violation?: Violation): SourcePane | null {
  const sources = Object.entries(answer.sources ?? {});
  if (!sources.length) return null;
  const violating = new Set((violation?.cycle ?? []).map((edge) => key(violation?.events[edge.source].location)));
  const touched = new Set((violation?.events ?? []).map((event) => key(event.location)));
  const lines = new Map<string, HTMLElement>();
  const files = sources.map(([file, pieces]) => {
    const body = h("ol", { class: "code" });
    pieces.forEach((piece, number) => {
      if (number) body.append(h("li", { class: "gap" }, "…"));
      piece.text.forEach((text, offset) => {
        const line = piece.line + offset;
        const at = `${file}:${line}`;
        const mine = (answer.fences ?? []).filter((fence) => fence.file === file && fence.line === line);
        const before = mine.filter((fence) => fence.before || fence.after === false);
        body.append(...before.map(fenceLine));
        const role = violating.has(at) ? "cycle" : touched.has(at) ? "touched" : "";
        const label = role === "cycle" ? "in the cycle" : role === "touched" ? "in the execution" : "";
        const element = h(
          "li",
          { class: role, value: line },
          h("span", { class: "number", "aria-hidden": "true" }, line),
          h("code", {}, text || " "),
          label ? h("span", { class: "hidden" }, ` (${label})`) : null,
        );
        lines.set(at, element);
        body.append(element, ...mine.filter((fence) => !before.includes(fence)).map(fenceLine));
      });
    });
    const open = sources.length === 1 || pieces.some((piece) => piece.text.some((_, i) => touched.has(`${file}:${piece.line + i}`)));
    return h("details", open ? { open: true } : {}, h("summary", {}, file), body);
  });
  const element = h("div", { class: "source", role: "region", "aria-label": "Source", tabindex: 0 }, ...files);
  let current: HTMLElement | undefined;
  return {
    element,
    show(location) {
      current?.classList.remove("current");
      current?.removeAttribute("aria-current");
      current = lines.get(key(location));
      if (!current) return;
      current.classList.add("current");
      current.setAttribute("aria-current", "step");
      const top = current.offsetTop - element.offsetTop;
      if (top < element.scrollTop || top > element.scrollTop + element.clientHeight - 30)
        element.scrollTop = top - element.clientHeight / 2;
    },
  };
}

const key = (location?: [string, number]): string => (location ? `${location[0]}:${location[1]}` : "");

function fenceLine(fence: Fence): HTMLElement {
  const what = fence.at ? `${fence.at}: as ${fence.kind}` : fence.kind;
  return h("li", { class: "fence" }, h("span", { class: "number", "aria-hidden": "true" }, "+"), h("code", {}, what),
    h("span", { class: "hidden" }, " (proposed)"));
}
