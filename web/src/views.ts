// A view for each kind of answer: verdict first, then what each model says, then the evidence.

import { eventLine, headline, place, told, violations, type Answer, type Fence, type ModelAnswer, type Violation } from "./answers";
import { badge, chunked, h, number, section, table } from "./dom";
import { lanes, type Link, type Mark } from "./lanes";
import { player, type Player } from "./player";
import { sourcePane } from "./source";

export interface View {
  element: HTMLElement;
  key(event: KeyboardEvent): boolean;
}

export function view(answer: Answer): View {
  const element = h("article", {}, ...heading(answer));
  if (answer.error) element.append(section("Error", h("p", { class: "error" }, `${answer.file ? `${answer.file}:${answer.line}: ` : ""}${answer.error}`)));
  if (answer.histories !== undefined) element.append(...recording(answer));
  else if (answer.command === "history") element.append(...history(answer));
  else if (answer.command === "monitor") element.append(...monitor(answer));
  else {
    element.append(...histogram(answer), ...models(answer), ...races(answer), ...fences(answer));
    const chooser = choose(answer);
    if (chooser) {
      element.append(chooser.element);
      return { element, key: chooser.key };
    }
  }
  if (answer.certificate || answer.accepted !== undefined)
    element.append(section("Certificate", h("p", {}, `${answer.certificate ?? ""} ${answer.accepted ? "accepted" : `rejected: ${answer.reason ?? ""}`}`)));
  return { element, key: () => false };
}

function heading(answer: Answer): HTMLElement[] {
  const name = answer.name && answer.name !== answer.input ? `${answer.input}: ${answer.name}` : answer.input;
  const facts: [string, string][] = [
    ["command", `teetotal ${answer.command}`],
    ["goal", answer.goal ?? ""],
    ["model", answer.model ?? ""],
    ["what that means", [answer.triage, answer.buys].filter(Boolean).join(": ")],
    ["everything explored", answer.complete ? "yes" : "no"],
    ["executions", number(answer.executions)],
    ["blocked", number(answer.blocked)],
    ["states", number(answer.states)],
    ["seconds", typeof answer.seconds === "number" ? answer.seconds.toFixed(3) : ""],
    ["version", answer.version ?? ""],
  ];
  return [
    h("h1", {}, badge(answer.verdict), ` ${name}`),
    h("dl", { class: "facts" }, ...facts.filter(([, value]) => value).map(([key, value]) => h("div", {}, h("dt", {}, key), h("dd", {}, value)))),
    h("ul", { class: "notes", "aria-label": "Notes" }, ...(answer.notes ?? []).map((note) => h("li", {}, note))),
  ];
}

const word = (value: boolean | null | undefined, yes: string, no: string): HTMLElement | string =>
  value === true ? badge("safe", yes) : value === false ? badge("violation", no) : "unknown or not asked";

function models(answer: Answer): HTMLElement[] {
  if (!answer.models || Array.isArray(answer.models)) return [];
  const rows = Object.entries(answer.models as Record<string, ModelAnswer>).map(([name, model]) => [
    name.toUpperCase(),
    badge(model.verdict),
    word(model.robust, "robust", "not robust"),
    word(model.safe, "safe", "not safe"),
    model.triage ?? "",
    model.race_free === undefined ? "" : word(model.race_free, "race-free", "races"),
    model.portable === undefined ? "" : word(model.portable, "portable", "not portable"),
    number(model.states),
    model.observation ? `${model.observation} ${model.positive}/${model.negative}` : "",
    model.outcomes ? number(model.outcomes.length) : "",
    model.reason ?? "",
  ]);
  const outcomes = Object.entries(answer.models as Record<string, ModelAnswer>).filter(([, model]) => model.outcomes?.length);
  return [
    section("Models", table(["model", "verdict", "robust", "safe", "what that means", "races", "portable", "states", "observation", "outcomes", "why"], rows)),
    ...(outcomes.length ? [outcomesTable(outcomes)] : []),
  ];
}

/** What a machine showed. */
function histogram(answer: Answer): HTMLElement[] {
  if (!answer.histogram) return [];
  const said = (allowed: boolean | null): string => (allowed === null ? "unknown" : allowed ? "yes" : "no");
  const rows = answer.histogram.map((seen) => [
    Object.entries(seen.outcome).map(([what, value]) => `${what}=${value}`).join("  "),
    number(seen.count), said(seen.sc), said(seen.model), seen.positive ? "yes" : "",
  ]);
  return [section(`What was seen in ${number(answer.rounds)} rounds`,
    table(["outcome", "how often", "under SC", `under ${(answer.model ?? "").toUpperCase()}`, "satisfies the condition"], rows))];
}

/** Of C11. */
function races(answer: Answer): HTMLElement[] {
  const made: HTMLElement[] = [];
  if (answer.races?.length)
    made.push(section(`${number(answer.races.length)} data races`, table(["location", "one access", "the other", "what is missing", "again"],
      answer.races.map((race) => [race.address, `${eventLine(race.first)} ${place(race.first.location)}`, `${eventLine(race.second)} ${place(race.second.location)}`, race.missing ?? "", race.replay ?? ""]))));
  if (answer.hazards?.length)
    made.push(section("Load buffering", h("ul", {}, ...answer.hazards.map((hazard) => h("li", {}, hazard.segments.join(", "))))));
  return made;
}

/** Each outcome, and which models allow it. */
function outcomesTable(named: [string, ModelAnswer][]): HTMLElement {
  const all = new Map<string, { outcome: Record<string, number>; models: Set<string> }>();
  for (const [name, model] of named)
    for (const outcome of model.outcomes ?? []) {
      const key = JSON.stringify(outcome);
      if (!all.has(key)) all.set(key, { outcome, models: new Set() });
      all.get(key)?.models.add(name);
    }
  const list = [...all.values()];
  const body = h("tbody", {});
  const shown = chunked(list, body, ({ outcome, models: allowed }) =>
    h("tr", { class: allowed.has("sc") ? "" : "relaxed" },
      h("td", {}, Object.entries(outcome).map(([what, value]) => `${what}=${value}`).join("  ")),
      ...named.map(([name]) => h("td", {}, allowed.has(name) ? "yes" : ""))));
  const made = h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "outcome"), ...named.map(([name]) => h("th", { scope: "col" }, name.toUpperCase())))), body);
  shown.prepend(made);
  return h("details", {}, h("summary", {}, `${list.length.toLocaleString("en")} outcomes`), h("div", { class: "scroll" }, shown));
}

/** Scrolls a list, and not the page, until one of its items can be seen. */
function scrollWithin(list: HTMLElement, item: HTMLElement): void {
  const [outer, inner] = [list.getBoundingClientRect(), item.getBoundingClientRect()];
  if (inner.top < outer.top) list.scrollTop -= outer.top - inner.top;
  else if (inner.bottom > outer.bottom) list.scrollTop += inner.bottom - outer.bottom;
}

/** The violations as a list, and the one that is chosen. */
function choose(answer: Answer): View | null {
  const found = violations(answer);
  if (!found.length) return null;
  const stage = h("div", {});
  let now: Player | undefined;
  let at = 0;
  const buttons = new Map<number, HTMLElement>();
  const show = (which: number): void => {
    buttons.get(at)?.removeAttribute("aria-current");
    at = which;
    const button = buttons.get(at);
    button?.setAttribute("aria-current", "true");
    if (button) scrollWithin(list, button);
    now = player(answer, found[which]);
    stage.replaceChildren(now.element);
  };
  const list = h("ol", { class: "violations", "aria-label": "Violations" });
  const shown = chunked(found, list, (violation, index) => {
    const button = h("button", { type: "button", click: () => show(index) }, headline(violation));
    buttons.set(index, button);
    return h("li", {}, button);
  });
  show(0);
  const title = answer.command === "replay" ? "Execution" : `${found.length.toLocaleString("en")} violation${found.length === 1 ? "" : "s"}`;
  return {
    element: section(title, found.length > 1 ? shown : null, stage),
    key(event) {
      if (event.key === "j" || event.key === "k") {
        const next = at + (event.key === "j" ? 1 : -1);
        if (next >= 0 && next < found.length) show(next);
        return true;
      }
      return now?.key(event) ?? false;
    },
  };
}

// -- fences -----------------------------------------------------------------------------------------------------------

function fences(answer: Answer): HTMLElement[] {
  if (answer.command !== "fence" && !answer.fences) return [];
  const made: HTMLElement[] = [];
  const met = answer.met === true || answer.verdict === "safe";  // whatever else is wrong with it, which the heading tells
  const listed = Array.isArray(answer.models) ? answer.models : Object.keys(answer.models ?? {});
  const goal = `${answer.goal ?? "robust"} under ${listed.map((model) => model.toUpperCase()).join(" and ")}`;
  const status = h("p", { class: "proof-status" }, badge(met ? "safe" : answer.verdict, met ? "proved" : answer.verdict), ` ${goal}`,
    answer.minimality ? `; ${answer.minimality}` : "", answer.cost ? `; cost ${answer.cost}` : "",
    answer.checks ? `; ${number(answer.checks)} exploration${answer.checks === 1 ? "" : "s"}` : "");
  const rows = (answer.fences ?? []).map((fence) => [fence.kind, `${fence.file}:${fence.line}`, where(fence), fence.cost ?? "", (fence.breaks ?? []).join("; ")]);
  made.push(section("Fences", status,
    rows.length ? table(["kind", "line", "where", "cost", "breaks the cycles through"], rows) : h("p", {}, "No fence to add."),
    ...(answer.patched ?? []).flatMap((patched) => [h("h3", {}, `Patched: ${patched.name ?? patched.input}`), ...models(patched).slice(0, 1)])));
  if (answer.diff) made.push(section("Patch", diff(answer.diff)));
  if ((answer.sets ?? []).length > 1)
    made.push(section(`${answer.sets?.length} minimal sets`, h("ol", {}, ...(answer.sets ?? []).map((set) => h("li", {}, set.map((fence) => `${fence.kind} ${where(fence)} (${fence.file}:${fence.line})`).join("; ") || "no fences")))));
  if (!answer.violations?.length) {
    const pane = sourcePane(answer);
    if (pane) made.push(section("Source", pane.element));
  }
  return made;
}

const where = (fence: Fence): string =>
  typeof fence.after === "boolean" ? `${fence.after ? "after" : "before"} the store`
  : fence.after ? `after ${fence.after}` : fence.before ? `before ${fence.before}` : `at ${fence.at ?? ""}`;

function diff(text: string): HTMLElement {
  const kind = (line: string): string =>
    /^(---|\+\+\+|@@)/.test(line) ? "meta" : line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "";
  return h("pre", { class: "diff", tabindex: 0, "aria-label": "Patch" }, ...text.split("\n").map((line) => h("span", { class: kind(line) }, `${line}\n`)));
}

// -- histories and traces ---------------------------------------------------------------------------------------------

function history(answer: Answer): HTMLElement[] {
  const facts = `${number(answer.operations)} operations, ${number(answer.threads)} threads, ${number(answer.addresses)} addresses; decided by ${answer.decided_by ?? answer.engine ?? ""}`;
  const made: HTMLElement[] = [h("p", {}, facts)];
  if (answer.learned) made.push(h("p", {}, `Known all the same: ${answer.learned}`));
  for (const violation of answer.violations ?? []) made.push(...unordered(violation));
  const said = Object.entries((answer.models ?? {}) as Record<string, string>);
  if (said.length) made.push(section("Models", table(["model", "verdict"], said.map(([model, verdict]) => [model, badge(verdict)]))));
  if (answer.witness_checked) made.push(h("p", {}, `A witness of ${number(answer.witness_steps)} steps was checked.`));
  if (answer.witness) made.push(h("details", {}, h("summary", {}, "Witness"), h("p", { class: "witness" }, answer.witness.map((step) => (step < 0 ? `~${~step}` : step)).join(" "))));
  return made;
}

/** How much was recorded, and the first history. */
function recording(answer: Answer): HTMLElement[] {
  const made: HTMLElement[] = [h("p", {}, `${number(answer.histories)} histories of ${number(answer.operations)} operations${answer.file ? ` in ${answer.file}` : ""}.`)];
  const first = answer.first;
  if (first?.events.length) made.push(section(`The first: ${first.name}`, inLanes(`The first history: ${first.events.length} operations`, first, () => {})));
  return made;
}

/** Operations of a history in the lanes of their threads. */
function inLanes(label: string, history: Pick<Violation, "events" | "threads" | "cycle">, hover: (text: string) => void): HTMLElement {
  const names = [...new Set(history.events.map((event, i) => history.threads?.[i] ?? `T${event.thread}`))];
  const next = names.map(() => 0);
  const inCycle = new Set((history.cycle ?? []).flatMap((edge) => [edge.source, edge.target]));
  const marks: (Mark & { event: number })[] = history.events.map((event, i) => {
    const lane = names.indexOf(history.threads?.[i] ?? `T${event.thread}`);
    return { row: next[lane]++, lane, label: `(${i + 1}) ${told(event)}`, title: `${told(event)}\n${place(event.location)}`, kind: "event", cycle: inCycle.has(i), event: i };
  });
  marks.sort((a, b) => a.row - b.row);
  const at = new Map(marks.map((mark, i) => [mark.event, i]));
  const links: Link[] = (history.cycle ?? []).map((edge) => ({
    from: at.get(edge.source) ?? 0, to: at.get(edge.target) ?? 0, reason: edge.reason, cycle: true,
    title: `${told(history.events[edge.source])} comes before ${told(history.events[edge.target])} ${edge.because ?? ""}`,
  }));
  const drawn = lanes(`${label} of ${names.length} threads`, names, marks, links, [], () => {}, hover);
  drawn.show(Math.max(...next), false);
  return drawn.element;
}

/** The operations of a minimal part, and the proof over them. */
function unordered(violation: Violation): HTMLElement[] {
  const reason = h("p", { class: "reason", "aria-live": "polite" }, "Hover over an edge for its reason.");
  const drawn = inLanes(`The violating part: ${violation.events.length} operations`, violation, (text) => void (reason.textContent = text));
  return [
    section(
      violation.minimal === false ? "A violating part" : "The minimal violating part",
      drawn,
      reason,
      violation.finals?.length ? h("p", {}, `Final values in it: ${violation.finals.join(", ")}`) : null,
    ),
    section("Proof", h("div", { class: "proof" }, ...(violation.proof ?? []).map((line) => h("p", {}, line)))),
    section("Its operations", table(["", "thread", "operation", "where"], violation.events.map((event, i) => [i + 1, violation.threads?.[i] ?? `T${event.thread}`, told(event), place(event.location)]))),
  ];
}

function monitor(answer: Answer): HTMLElement[] {
  const named = Object.entries((answer.models ?? {}) as Record<string, ModelAnswer>);
  const found = [...(answer.violations ?? [])].sort((a, b) => (b.count ?? 1) - (a.count ?? 1)); // the most frequent first, as in text
  const reports = named.flatMap(([model, said]) =>
    Object.entries(said.reports ?? {}).map(([name, count]) => [name, model.toUpperCase(), number(count), number(found.filter((violation) => violation.monitor === name).length)]));
  const list = h("ol", { class: "monitored" });
  const shown = chunked(found, list, (violation) => {
    const details = h("details", {}, h("summary", {}, `${violation.monitor}: ${headline(violation)}`));
    details.addEventListener("toggle", () => {
      if (details.childElementCount > 1) return;
      details.append(
        h("p", {}, (violation.locations ?? []).join(" … ")),
        h("ol", {}, ...(violation.cycle ?? []).map((edge) => h("li", {}, h("code", {}, eventLine(violation.events[edge.source])), " comes before ", h("code", {}, eventLine(violation.events[edge.target])), ` ${edge.because ?? ""}`))),
      );
    });
    return h("li", {}, details);
  });
  return [
    section("Monitors", h("p", {}, `${number(answer.events as number)} events, ${number(answer.threads)} threads`), table(["monitor", "model", "reports", `distinct (${answer.group ?? "pair"}s)`], reports)),
    section(`${number(found.length)} distinct violations`, shown),
  ];
}
