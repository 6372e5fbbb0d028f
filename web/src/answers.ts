// The answers as `--json` prints them (docs/reference/json.md), with events in words (report/html.py). What the machines do
// is computed there, step by step: nothing here knows how a buffer works.

export type Verdict = "safe" | "violation" | "inconclusive";
export type Reason = "po" | "src" | "co" | "fr";

export interface Event {
  thread: number;
  index: number;
  kind: string;
  address?: string;
  location?: [string, number];
  within?: string;
  /** The operation alone, in words: `st x = 1`. */
  text: string;
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
  shown_by?: string[];
  repair?: string;
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
  triage?: string;
  race_free?: boolean | null;
  portable?: boolean | null;
}

export interface Race {
  address: string;
  first: Event;
  second: Event;
  locations?: string[];
  missing?: string;
  replay?: string;
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
  triage?: string;
  buys?: string;
  races?: Race[];
  histogram?: { outcome: Record<string, number>; count: number; sc: boolean | null; model: boolean | null; positive: boolean }[];
  rounds?: number;
  // record
  histories?: number;
  first?: { name: string; threads: string[]; events: Event[] } | null;
  hazards?: { segments: string[]; locations?: string[] }[];
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
  met?: boolean;
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

/** A figure: curves of points. */
export interface Plot {
  plot: string;
  title: string;
  across: string;
  up: string;
  curves: Record<string, [number, number][]>;
}

export const told = (event: Event): string => event.text;

export const place = (location?: [string, number]): string => (location ? `${location[0]}:${location[1]}` : "");

export const REASONS: Record<Reason, string> = {
  po: "program order",
  src: "reads from",
  co: "coherence: reaches memory before",
  fr: "from-read: is overwritten by",
};

/** One object for each program, trace or history, and the rows of tables and figures. */
export function embedded(): (Answer | Row | Plot)[] {
  const text = document.getElementById("answers")?.textContent ?? "[]";
  return JSON.parse(text) as (Answer | Row | Plot)[];
}

/** A replay's execution stands beside its other keys. */
/** What fails comes before what is only not robust. */
export function violations(answer: Answer): Violation[] {
  if (answer.command === "replay" && Array.isArray(answer.events)) return [answer as unknown as Violation];
  const found = answer.violations ?? [];
  const fails = ({ kind }: Violation): boolean => kind !== "robustness" && kind !== "race";
  return [...found.filter(fails), ...found.filter((violation) => !fails(violation))];
}

export function headline(violation: Violation): string {
  const what = violation.message || (violation.cycle ?? []).map((e) => eventLine(violation.events[e.source])).join(" → ");
  const count = violation.count && violation.count > 1 ? ` (${violation.count.toLocaleString("en")} times)` : "";
  return `${violation.model.toUpperCase()}: ${violation.kind}${what ? `: ${what}` : ""}${count}`;
}

export const eventLine = (event: Event): string => `T${event.thread}: ${told(event)}`;
