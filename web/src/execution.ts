// An execution as rows: a row is one step of the machine. What a fence or an atomic operation makes visible is told as
// commits without buffers before it, and is one row with it.

import { place, REASONS, told, type Execution, type Reason, type Step, type Violation } from "./answers";
import type { Bar, Link, Mark } from "./lanes";

export interface Row {
  steps: Step[];
  text: string;
  location?: [string, number];
  buffers?: string[][];
  memory: Record<string, string>;
}

export function rowsOf(execution: Execution): Row[] {
  const rows: Row[] = [];
  let steps: Step[] = [];
  for (const step of execution.steps ?? execution.events.map(asStep)) {
    steps.push(step);
    if (step.action === "commit" && !step.buffers) continue;
    const event = execution.events[step.event];
    const flushed = steps.slice(0, -1).map((commit) => told(execution.events[commit.event]));
    const together = flushed.length ? `, after ${flushed.join(", ")} reached memory` : "";
    rows.push({
      steps,
      text: `${stepText(execution, step)}${together}`,
      location: step.location ?? event?.location,
      buffers: step.buffers,
      memory: Object.assign({}, ...steps.map((one) => one.memory ?? {})),
    });
    steps = [];
  }
  return rows;
}

const asStep = (event: { thread: number }, number: number): Step => ({ thread: event.thread, action: "event", event: number });

function stepText(execution: Execution, step: Step): string {
  if (step.text) return `T${step.thread} ${step.text}`;
  const what = told(execution.events[step.event]);
  return `T${step.thread}: ${what}${step.action === "commit" ? " reaches memory" : ""}`;
}

/** What memory holds after each row, from snapshots that lie not too far apart. */
export class Memory {
  private readonly snapshots: Map<string, string>[] = [];

  constructor(
    initial: Record<string, string>,
    private readonly rows: Row[],
  ) {
    let now = new Map(Object.entries(initial));
    rows.forEach((row, number) => {
      if (number % 256 === 0) this.snapshots.push(new Map(now));
      for (const [address, value] of Object.entries(row.memory)) now.set(address, value);
    });
    if (!rows.length) this.snapshots.push(now);
  }

  after(row: number): Map<string, string> {
    const from = Math.max(0, Math.floor(row / 256));
    const memory = new Map(this.snapshots[from]);
    for (let i = from * 256; i <= row; i++)
      for (const [address, value] of Object.entries(this.rows[i].memory)) memory.set(address, value);
    return memory;
  }
}

export interface Picture {
  marks: Mark[];
  links: Link[];
  bars: Bar[];
  /** The row in which each event happens. */
  rowOf: Map<number, number>;
}

export function picture(
  execution: Execution,
  rows: Row[],
  cycle: Violation["cycle"] = [],
  relations: [number, number, Reason][] = [],
): Picture {
  const { events } = execution;
  const inCycle = new Set(cycle.map((edge) => edge.source));
  const marks: Mark[] = [];
  const bars: Bar[] = [];
  const rowOf = new Map<number, number>();
  const markOf = new Map<number, number>();
  rows.forEach((row, number) => {
    for (const step of row.steps) {
      const event = events[step.event];
      if (step.action === "event") {
        rowOf.set(step.event, number);
        markOf.set(step.event, marks.length);
      }
      if (step.action === "commit") {
        bars.push({
          lane: step.thread, from: rowOf.get(step.event) ?? number, to: number,
          title: `${told(event)} waits in the buffer of T${step.thread}`,
        });
        if (step !== row.steps[row.steps.length - 1]) continue; // told with the fence that flushes
      }
      marks.push({
        row: number,
        lane: step.thread,
        kind: step.action,
        label: step.action === "step" ? (step.text ?? "") : step.action === "commit" ? `⤓ ${told(event).replace(/^st /, "")}` : told(event),
        title: [row.text, place(row.location), event?.within ? `in ${event.within}` : ""].filter(Boolean).join("\n"),
        cycle: step.action === "event" && inCycle.has(step.event),
      });
    }
  });
  const links: Link[] = [];
  const join = (from: number, to: number, reason: Reason, title: string, inIt?: boolean): void => {
    const [a, b] = [markOf.get(from), markOf.get(to)];
    if (a !== undefined && b !== undefined) links.push({ from: a, to: b, reason, title, cycle: inIt });
  };
  const inTheCycle = new Set(cycle.map((edge) => `${edge.source}-${edge.target}-${edge.reason}`));
  for (const [from, to, reason] of relations)
    if (!inTheCycle.has(`${from}-${to}-${reason}`))
      join(from, to, reason, `T${events[from].thread}: ${told(events[from])} — ${REASONS[reason]} — T${events[to].thread}: ${told(events[to])}`);
  for (const edge of cycle)
    join(edge.source, edge.target, edge.reason, `${told(events[edge.source])} comes before ${told(events[edge.target])} ${edge.because ?? ""}`, true);
  return { marks, links, bars, rowOf };
}

export function threadNames(executions: Execution[]): string[] {
  let most = 0;
  for (const execution of executions)
    for (const { thread } of execution.events) most = Math.max(most, thread + 1);
  return Array.from({ length: most }, (_, thread) => `T${thread}`);
}
