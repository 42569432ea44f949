// Search-as-you-type over the names of all labels: a combobox whose list the service answers.

import { labels, newest } from "./api.js";
import { h, say } from "./dom.js";
import { counted, t } from "./language.js";

const SHOWN = 12;
let number = 0;

/** An input with a list below it; `choose(name)` gets what was picked, `fail(error)` what went wrong. */
export function labelSearch(choose, fail) {
  const id = `search-${(number += 1)}`;
  const asking = newest((text, signal) => labels(text, SHOWN, signal));
  const list = h("ul", { id: `${id}-list`, class: "found", role: "listbox", "aria-label": t("add_tag"), hidden: true });
  const input = h("input", {
    id, type: "text", role: "combobox", autocomplete: "off", spellcheck: "false", placeholder: t("add_hint"),
    "aria-expanded": "false", "aria-controls": list.id, "aria-autocomplete": "list",
    on: { input: search, keydown: keys, blur: close },
  });
  let active = -1;
  let eager = false; // Enter came before the list for what was typed

  async function search() {
    const text = input.value.trim();
    eager = false;
    if (!text) return close();
    try {
      const answer = await asking(text);
      if (answer && input.value.trim() === text) show(text, answer.labels);
    } catch (error) {
      fail(error);
    }
  }

  function show(text, found) {
    const options = found.map(({ name, title, matched, rows }) => {
      const shown = [title ?? name, matched].filter(Boolean).join(" · ");
      return option(name, [h("span", {}, emphasised(shown, text)), h("small", {}, counted("rows", rows))]);
    });
    const same = (name) => name?.toLowerCase() === text.toLowerCase();
    if (!found.some(({ name, title, matched }) => same(name) || same(title) || same(matched))) {
      options.push(option(text, [t("add_new", { name: text })]));
    }
    list.replaceChildren(...options);
    list.dataset.query = text;
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
    activate(0);
    if (eager) return take(list.children[0].dataset.name);
    say(counted("hits", found.length));
  }

  function option(name, children) {
    const stay = (event) => event.preventDefault(); // the input keeps the focus, so that the list stays open
    return h("li", { role: "option", "data-name": name, "aria-selected": "false", on: { mousedown: stay, click: () => take(name) } }, h("span", {}, children));
  }

  function activate(place) {
    const options = list.children;
    options[active]?.setAttribute("aria-selected", "false");
    active = (place + options.length) % options.length;
    options[active].id = `${id}-active`;
    for (const other of options) if (other !== options[active]) other.removeAttribute("id");
    options[active].setAttribute("aria-selected", "true");
    options[active].scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", `${id}-active`);
  }

  function close() {
    list.hidden = true;
    active = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  }

  function take(name) {
    input.value = "";
    eager = false;
    close();
    choose(name);
  }

  function enter() {
    if (active >= 0 && list.dataset.query === input.value.trim()) take(list.children[active].dataset.name);
    else eager = true;
  }

  function keys(event) {
    if (event.key === "Escape" && !list.hidden) close();
    else if (event.key === "Enter" && input.value.trim()) enter();
    else if (event.key === "ArrowDown" && !list.hidden) activate(active + 1);
    else if (event.key === "ArrowUp" && !list.hidden) activate(active - 1);
    else {
      event.stopPropagation(); // letters typed here are no shortcuts
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  const element = h("div", { class: "search" }, h("label", { for: id }, t("add_tag")), input, list);
  return { element, focus: () => input.focus() };
}

/** The name with the part that was asked for in bold. */
function emphasised(name, text) {
  const at = name.toLowerCase().indexOf(text.toLowerCase());
  if (at < 0) return [name];
  return [name.slice(0, at), h("b", {}, name.slice(at, at + text.length)), name.slice(at + text.length)];
}
