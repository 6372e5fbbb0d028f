// Elements from names, attributes and children. Text is always text: nothing that an answer says becomes markup.

type Child = Node | string | number | null | undefined | false;
type Attributes = Record<string, string | number | boolean | null | undefined | ((event: never) => void)>;

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: (Child | Child[])[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value as EventListener);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, String(value));
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined && child !== false)
      element.append(child instanceof Node ? child : String(child));
  }
  return element;
}

export function section(title: string, ...children: (Child | Child[])[]): HTMLElement {
  const heading = h("h2", {}, title);
  heading.id = `s${Math.random().toString(36).slice(2)}`;
  return h("section", { "aria-labelledby": heading.id }, heading, ...children);
}

/** Columns in which no row says anything are left out. */
export function table(titles: string[], cells: Child[][], caption?: string): HTMLElement {
  const used = titles.map((_, i) => !cells.length || cells.some((row) => row[i] !== "" && row[i] !== null && row[i] !== undefined));
  const head = titles.filter((_, i) => used[i]);
  const rows = cells.map((row) => row.filter((_, i) => used[i]));
  return h(
    "div",
    { class: "scroll" },
    h(
      "table",
      {},
      caption ? h("caption", {}, caption) : null,
      h("thead", {}, h("tr", {}, ...head.map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", {}, ...rows.map((row) => h("tr", {}, ...row.map((cell) => h("td", {}, cell))))),
    ),
  );
}

const CHUNK = 200;

/** A long list, a piece at a time. */
export function chunked<T>(items: T[], list: HTMLElement, make: (item: T, index: number) => HTMLElement): HTMLElement {
  const more = h("button", { type: "button", class: "more" });
  let shown = 0;
  const grow = (): void => {
    const next = items.slice(shown, shown + CHUNK);
    list.append(...next.map((item, i) => make(item, shown + i)));
    shown += next.length;
    more.hidden = shown >= items.length;
    more.textContent = `${(items.length - shown).toLocaleString("en")} more`;
  };
  more.addEventListener("click", grow);
  grow();
  return h("div", {}, list, more);
}

export const badge = (verdict: string, text = verdict): HTMLElement =>
  h("span", { class: `badge ${verdict}` }, text);

export const number = (value: number | undefined | null): string =>
  value === undefined || value === null ? "" : value.toLocaleString("en");
