// The page: a list of answers on the left, the chosen one on the right. Everything is in this file; nothing is loaded.

import "./style.css";
import { embedded, type Answer, type Plot, type Row } from "./answers";
import { badge, chunked, h } from "./dom";
import { defineArrows } from "./lanes";
import { plots } from "./plots";
import { tables } from "./tables";
import { view, type View } from "./views";

const KEYS = "← → a step, Page Up and Page Down ten, Home and End, space plays, [ and ] go along the cycle, j and k to other violations";

function start(): void {
  const all = embedded();
  const answers = all.filter((one): one is Answer => "command" in one);
  const rows = all.filter((one): one is Row => "table" in one);
  const figures = all.filter((one): one is Plot => "plot" in one);
  const main = h("main", { id: "main" });
  let now: View | undefined;
  const buttons: HTMLElement[] = [];

  function show(which: number): void {
    for (const button of buttons) button.removeAttribute("aria-current");
    buttons[which]?.setAttribute("aria-current", "page");
    now = view(answers[which]);
    main.replaceChildren(now.element);
    document.title = `${answers[which].input}: ${answers[which].verdict} – teetotal`;
  }

  const list = h("ol", {});
  const items = chunked(answers, list, (answer, index) => {
    const name = answer.name && answer.name !== answer.input ? answer.name : answer.input;
    const about = answer.command === "history" && answer.model ? `${name} (${answer.model})` : name;
    const button = h("button", { type: "button", click: () => show(index) }, badge(answer.verdict), ` ${about}`);
    buttons[index] = button;
    return h("li", {}, button);
  });
  const counts = (["violation", "inconclusive", "safe"] as const)
    .map((verdict) => [verdict, answers.filter((answer) => answer.verdict === verdict).length] as const)
    .filter(([, count]) => count);
  document.getElementById("page")?.replaceWith(
    h("div", { id: "page" },
      h("header", {},
        h("strong", {}, "teetotal"),
        h("span", {}, ...counts.map(([verdict, count]) => badge(verdict, `${count.toLocaleString("en")} ${verdict}${verdict === "violation" && count > 1 ? "s" : ""}`))),
        h("span", { class: "keys" }, KEYS),
        h("button", { type: "button", class: "theme", click: turn }, "Light or dark")),
      h("div", { class: answers.length > 1 ? "body with-list" : "body" },
        answers.length > 1 ? h("nav", { "aria-label": "Answers" }, items) : null,
        main)));
  defineArrows();
  document.addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    const typing = target.matches("input:not([type=range]):not([type=checkbox]), textarea, select");
    const pressing = target.matches("button, summary, input[type=checkbox]") && (event.key === " " || event.key === "Enter");
    if (typing || pressing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (now?.key(event)) event.preventDefault();
  });
  window.addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details")) details.open = true;
  });
  if (rows.length || figures.length) main.append(...plots(figures), ...tables(rows));
  else if (answers.length) show(Math.max(0, answers.findIndex((answer) => answer.verdict === "violation")));
  else main.append(h("p", {}, "There is no answer in this file."));
  document.documentElement.dataset.ready = "true";
}

function turn(): void {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
}

start();
