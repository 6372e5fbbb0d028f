// The answers as `--json` prints them (docs/reference/json.md). What the machines do is computed there, step by step:
// nothing here knows how a buffer works.

export type Verdict = "safe" | "violation" | "inconclusive";
export type Reason = "po" | "src" | "co" | "fr";

export interface Event {
  thread: number;
  index: number;
  kind: string;
  address?: string;
  value?: number;
  read?: number;
  location?: [string, number];
  wrote?: boolean;
  words?: string;
  within?: string;
}

export interface Edge {
  source: number;
  target: number;
  reason: Reason;
  because?: string;
}

export interface Step {
  thread: number;
  action: "event" | "commit" | "step";
  event: number;
  buffers?: string[][];
  text?: string;
  location?: [string, number];
  memory?: Record<string, string>;
}

export interface Execution {
  events: Event[];
  steps?: Step[];
}

export interface Violation extends Execution {
  model: string;
  kind: string;
  cycle?: Edge[];
  locations?: string[];
  monitor?: string;
  message?: string;
  replay?: string;
  initial?: Record<string, string>;
  relations?: [number, number, Reason][];
  sequential?: Execution & { delayed: number; deciding: number };
  // of histories
  threads?: string[];
  proof?: string[];
  finals?: string[];
  minimal?: boolean;
  operations?: number[];
  // of monitors
  count?: number;
}

export interface ModelAnswer {
  verdict: Verdict;
  robust?: boolean | null;
  safe?: boolean | null;
  states?: number;
  observation?: string;
  positive?: number;
  negative?: number;
  outcomes?: Record<string, number>[];
  reason?: string;
  reports?: Record<string, number>;
  complete?: boolean;
}

export interface Fence {
  kind: string;
  file: string;
  line: number;
  after?: string | boolean;
  before?: string;
  at?: string;
  cost?: number;
  patched_line?: number;
  breaks?: string[];
  processes?: number;
}

export interface Piece {
  line: number;
  text: string[];
}

export interface Answer {
  input: string;
  command: string;
  verdict: Verdict;
  complete: boolean;
  seconds?: number | null;
  version?: string;
  notes?: string[];
  name?: string;
  models?: Record<string, ModelAnswer> | string[] | Record<string, Verdict>;
  model?: string;
  violations?: Violation[];
  goal?: string;
  sources?: Record<string, Piece[]>;
  executions?: number;
  blocked?: number;
  states?: number;
  // fence, verify --fence
  fences?: Fence[];
  sets?: Fence[][];
  removed?: Fence[];
  unnecessary?: Fence[];
  diff?: string;
  patched?: Answer[];
  minimality?: string;
  cost?: number;
  checks?: number;
  // history
  engine?: string;
  decided_by?: string;
  operations?: number;
  threads?: number;
  addresses?: number;
  witness?: number[];
  witness_steps?: number;
  witness_checked?: boolean;
  learned?: string;
  text?: string[];
  // monitor
  events?: number | Event[];
  group?: string;
  // replay
  steps?: Step[];
  kind?: string;
  judged?: boolean;
  // refusals and certificates
  error?: string;
  file?: string;
  line?: number;
  accepted?: boolean;
  certificate?: string;
  reason?: string | null;
}

export interface Row {
  table: string;
  title?: string;
  columns: string[];
  row: unknown[];
}

/** The operation alone, as `answers/events.py` tells it. */
export function told(event: Event): string {
  if (event.words) return event.words;
  const { kind, address, value, read } = event;
  const known = value !== undefined || read !== undefined;
  switch (kind) {
    case "ld":
      return known ? `ld ${address} → ${value}` : `ld ${address}`;
    case "st":
      return known ? `st ${address} = ${value}` : `st ${address}`;
    case "rmw":
      if (!known) return `rmw ${address}${event.wrote ? "" : ", unchanged"}`;
      return value === undefined ? `rmw ${address}: ${read}, unchanged` : `rmw ${address}: ${read} → ${value}`;
    case "lock":
    case "unlock":
      return `${kind} ${address}`;
    default:
      return kind;
  }
}

export const place = (location?: [string, number]): string => (location ? `${location[0]}:${location[1]}` : "");

export const REASONS: Record<Reason, string> = {
  po: "program order",
  src: "reads from",
  co: "coherence: reaches memory before",
  fr: "from-read: is overwritten by",
};

/** One object for each program, trace or history, and the rows of tables. */
export function embedded(): (Answer | Row)[] {
  const text = document.getElementById("answers")?.textContent ?? "[]";
  return JSON.parse(text) as (Answer | Row)[];
}

/** A replay's execution stands beside its other keys. */
export function violations(answer: Answer): Violation[] {
  if (answer.command === "replay" && Array.isArray(answer.events)) return [answer as unknown as Violation];
  return answer.violations ?? [];
}

export function headline(violation: Violation): string {
  const what = violation.message || (violation.cycle ?? []).map((e) => eventLine(violation.events[e.source])).join(" → ");
  const count = violation.count && violation.count > 1 ? ` (${violation.count.toLocaleString("en")} times)` : "";
  return `${violation.model.toUpperCase()}: ${violation.kind}${what ? `: ${what}` : ""}${count}`;
}

export const eventLine = (event: Event): string => `T${event.thread}: ${told(event)}`;
