// One violation: the relaxed execution step by step, with buffers and memory as the machine had them, beside the SC
// execution that gave it away.

import { eventLine, headline, place, told, type Answer, type Reason, type Violation } from "./answers";
import { h, section, table } from "./dom";
import { Memory, picture, rowsOf, threadNames } from "./execution";
import { lanes } from "./lanes";
import { sourcePane } from "./source";

const FEW = 80; // with more events than that, only the cycle's edges are drawn until others are asked for

export interface Player {
  element: HTMLElement;
  key(event: KeyboardEvent): boolean;
}

export function player(answer: Answer, violation: Violation): Player {
  const rows = rowsOf(violation);
  const memory = new Memory(violation.initial ?? {}, rows);
  const drawn = picture(violation, rows, violation.cycle, violation.relations);
  const names = threadNames(violation.sequential ? [violation, violation.sequential] : [violation]);
  const reason = h("p", { class: "reason", "aria-live": "polite" }, "Hover over an edge for its reason.");
  const say = (text: string): void => void (reason.textContent = text);
  const relaxed = lanes(
    `Execution under ${violation.model.toUpperCase()}: ${rows.length} steps of ${names.length} threads`,
    names, drawn.marks, drawn.links, drawn.bars, (row) => go(row + 1), say,
  );
  const beside = besideIt(violation, names, say);
  const pane = sourcePane(answer, violation);

  const slider = h("input", {
    type: "range", min: 0, max: rows.length, value: 0, step: 1, "aria-label": "Step of the execution",
    input: () => go(Number(slider.value)),
  });
  const status = h("output", { class: "status", "aria-live": "polite" });
  const state = h("div", { class: "state" });
  let position = 0;
  let timer = 0;
  const cycleRows = [...new Set((violation.cycle ?? []).map((edge) => (drawn.rowOf.get(edge.source) ?? 0) + 1))].sort((a, b) => a - b);

  function go(to: number): void {
    position = Math.max(0, Math.min(rows.length, to));
    slider.value = String(position);
    const row = rows[position - 1];
    status.textContent = row
      ? `Step ${position} of ${rows.length}: ${row.text}${row.location ? ` (${place(row.location)})` : ""}`
      : `Before the first of ${rows.length} steps`;
    slider.setAttribute("aria-valuetext", status.textContent);
    relaxed.show(position - 1);
    pane?.show(row?.location);
    const step = row?.steps[row.steps.length - 1];
    const event = step ? violation.events[step.event] : undefined;
    const meanwhile = beside?.show(event);
    state.replaceChildren(
      buffersTable(names, row?.buffers, violation.model),
      memoryTable(memory.after(position - 1), row?.memory ?? {}, meanwhile?.memory),
      h("p", { class: "meanwhile" }, meanwhile?.text ?? ""),
    );
  }

  function play(): void {
    if (timer) {
      window.clearInterval(timer);
      timer = 0;
    } else {
      if (position === rows.length) go(0);
      timer = window.setInterval(() => {
        if (position >= rows.length || !slider.isConnected) play();
        else go(position + 1);
      }, 900);
    }
    playing.textContent = timer ? "Pause" : "Play";
  }

  const near = (way: 1 | -1): void => {
    const next = way > 0 ? cycleRows.find((row) => row > position) : cycleRows.findLast((row) => row < position);
    if (next !== undefined) go(next);
  };
  const button = (text: string, label: string, act: () => void): HTMLButtonElement =>
    h("button", { type: "button", title: label, "aria-label": label, click: act }, text);
  const playing = button("Play", "Play (space)", play);
  const controls = h(
    "div",
    { class: "controls", role: "group", "aria-label": "Steps" },
    button("|◀", "First (Home)", () => go(0)),
    button("◀", "Back (left arrow)", () => go(position - 1)),
    slider,
    button("▶", "Forward (right arrow)", () => go(position + 1)),
    button("▶|", "Last (End)", () => go(rows.length)),
    playing,
    cycleRows.length ? button("[ cycle", "Step of the cycle before ([)", () => near(-1)) : null,
    cycleRows.length ? button("cycle ]", "Next step of the cycle (])", () => near(1)) : null,
    filters(violation, (wanted) => relaxed.filter(wanted)),
  );
  const keys: Record<string, () => void> = {
    ArrowLeft: () => go(position - 1),
    ArrowRight: () => go(position + 1),
    PageUp: () => go(position - 10),
    PageDown: () => go(position + 10),
    Home: () => go(0),
    End: () => go(rows.length),
    " ": play,
    "[": () => near(-1),
    "]": () => near(1),
  };
  const element = h(
    "div",
    { class: "player" },
    h("h3", {}, headline(violation)),
    controls,
    status,
    h(
      "div",
      { class: pane ? "panes with-source" : "panes" },
      pane?.element ?? null,
      h("figure", {}, h("figcaption", {}, caption(violation)), relaxed.element),
      beside ? h("figure", {}, h("figcaption", {}, "SC: the execution that gave it away"), beside.element) : null,
      state,
    ),
    reason,
    proof(violation),
    violation.replay ? h("p", {}, "Again: ", h("code", { class: "command" }, violation.replay)) : null,
    stepsTable(rows),
  );
  requestAnimationFrame(() => go(cycleRows.length ? cycleRows[cycleRows.length - 1] : rows.length));
  return {
    element,
    key(event) {
      const act = keys[event.key];
      act?.();
      return act !== undefined;
    },
  };
}

function caption(violation: Violation): string {
  const what = violation.cycle?.length ? ": no SC execution does that" : "";
  return `${violation.model.toUpperCase()}${what}`;
}

function besideIt(violation: Violation, names: string[], say: (text: string) => void):
  { element: HTMLElement; show(event?: { thread: number; index: number }): { text: string; memory: Map<string, string> } } | null {
  const sequential = violation.sequential;
  if (!sequential) return null;
  const rows = rowsOf(sequential);
  const memory = new Memory(violation.initial ?? {}, rows);
  const { delayed, deciding } = sequential;
  const drawn = picture(sequential, rows);
  drawn.marks[delayed].cycle = drawn.marks[deciding].cycle = true;
  drawn.marks[delayed].title += "\nthe store that can be late";
  drawn.marks[deciding].title += "\nwhat overtakes it";
  const shown = lanes(`The SC execution beside it: ${rows.length} events`, names, drawn.marks, drawn.links, [], () => {}, say);
  const positions = new Map(sequential.events.map((event, number) => [`${event.thread}.${event.index}`, number]));
  let last = -1;
  return {
    element: shown.element,
    show(event) {
      const found = event && positions.get(`${event.thread}.${event.index}`);
      if (found !== undefined) last = found;
      shown.show(event ? last : -1);
      const now = memory.after(event ? last : -1);
      if (found === undefined) return { text: "", memory: now };
      const there = sequential.events[found];
      const role = found === delayed ? ", the store that can be late" : found === deciding ? `, which can overtake step ${delayed + 1}` : "";
      return { text: `In the SC execution that is its step ${found + 1}${role}: ${told(there)}.`, memory: now };
    },
  };
}

function filters(violation: Violation, apply: (reasons: Set<Reason>) => void): HTMLElement | null {
  const kinds: [Reason, string][] = [["src", "reads-from"], ["co", "coherence"], ["fr", "from-read"]];
  const relations = violation.relations ?? [];
  if (!relations.length) return null;
  const wanted = new Set<Reason>(violation.events.length <= FEW ? ["src", "co", "fr"] : []);
  apply(new Set(wanted));
  return h("fieldset", {}, h("legend", { class: "hidden" }, "Edges"), ...kinds.map(([kind, label]) => {
    const box = h("input", {
      type: "checkbox", checked: wanted.has(kind),
      change: () => {
        if (box.checked) wanted.add(kind);
        else wanted.delete(kind);
        apply(new Set(wanted));
      },
    });
    return h("label", { class: `edge ${kind}` }, box, ` ${label}`);
  }));
}

function buffersTable(names: string[], buffers: string[][] | undefined, model: string): HTMLElement {
  if (model === "sc") return h("p", {}, "SC has no buffers.");
  const rows = names.map((name, thread) => [
    name,
    h("span", { class: "buffer", "data-thread": thread }, ...(buffers?.[thread] ?? []).map((entry) => h("span", { class: "entry" }, entry)),
      (buffers?.[thread] ?? []).length ? null : "empty"),
  ]);
  const made = table(["thread", "oldest store first"], rows, "Buffers");
  made.classList.add("buffers");
  return made;
}

function memoryTable(memory: Map<string, string>, changed: Record<string, string>, sc?: Map<string, string>): HTMLElement {
  const rows = [...memory].map(([address, value]) => [
    address,
    h("span", { class: address in changed ? "value changed" : "value", "data-address": address }, value),
    sc?.get(address) ?? "",
  ]);
  const made = table(["location", "value", "at the same event under SC"], rows, "Memory");
  made.classList.add("memory");
  return made;
}

function proof(violation: Violation): HTMLElement | null {
  const cycle = violation.cycle ?? [];
  if (!cycle.length) return null;
  const of = (number: number): HTMLElement => h("code", {}, eventLine(violation.events[number]));
  return section(
    "Why no sequentially consistent execution does that",
    h("ol", {}, ...cycle.map((edge) =>
      h("li", {}, of(edge.source), " comes before ", of(edge.target), " ", edge.reason === "po" ? "in program order" : (edge.because ?? "")))),
    h("p", {}, "so ", of(cycle[0].source), " would come before itself: a contradiction."),
  );
}

const LISTED = 1000;

/** Every step as text, for those who read rather than look, and for paper. */
function stepsTable(rows: ReturnType<typeof rowsOf>): HTMLElement {
  const details = h("details", { class: "steps" }, h("summary", {}, `All ${rows.length.toLocaleString("en")} steps as a table`));
  details.addEventListener("toggle", () => {
    if (details.childElementCount > 1) return;
    const listed = rows.slice(0, LISTED).map((row, number) => [
      number + 1,
      row.text,
      place(row.location),
      (row.buffers ?? []).map((held, thread) => (held.length ? `T${thread}[${held.join(", ")}]` : "")).filter(Boolean).join("  "),
      Object.entries(row.memory).map(([address, value]) => `${address} = ${value}`).join(", "),
    ]);
    details.append(table(["", "what happens", "where", "buffers after it", "reaches memory"], listed));
    if (rows.length > LISTED) details.append(h("p", {}, `The first ${LISTED} of ${rows.length}; the slider goes through all of them.`));
  });
  return details;
}
