// "Tree": an expandable view of a tree source that opens by itself along the way of the text.

import { h } from "./dom.js";
import { percent, t } from "./language.js";

const ROOT = 0;

export class TreeView {
  /** text(): the text of the page; fail(error). */
  constructor(root, { text, fail }) {
    Object.assign(this, { root, text, fail });
    this.number = 0;
  }

  /** source: null if the model has no tree. */
  render(about, source) {
    this.source = source;
    const head = [h("h1", {}, t("tree_title"))];
    if (!source) {
      this.tree = null;
      this.root.replaceChildren(...head, h("p", { class: "sheet" }, t("tree_none", { model: about.model })));
      return;
    }
    this.number = Math.min(this.number, source.count - 1);
    if (source.count > 1) {
      const options = [...Array(source.count).keys()].map((place) =>
        h("option", { value: place, selected: place === this.number }, t("tree_of", { n: place + 1, all: source.count })));
      const choice = h("select", { id: "tree-number", on: { change: () => { this.number = Number(choice.value); this.open(); } } }, options);
      head.push(h("label", { class: "inline" }, `${t("tree_which")} `, choice));
    }
    this.quoted = h("blockquote", {});
    this.tree = h("ul", { class: "tree", role: "tree", "aria-label": t("tree_label"), on: { keydown: (event) => this.keys(event), click: (event) => this.clicked(event) } });
    this.root.replaceChildren(h("div", { class: "heading" }, head), h("p", { class: "soft lead" }, t("tree_note")), this.quoted, h("div", { class: "sheet" }, this.tree));
    this.shownFor = null;
  }

  /** Called when the view comes to the front. */
  enter() {
    if (this.tree && this.shownFor !== this.text()) this.open();
  }

  async open() {
    const text = this.text();
    this.shownFor = text;
    this.quoted.textContent = text.trim() || t("tree_no_text");
    this.quoted.classList.toggle("soft", !text.trim());
    try {
      const items = await this.below(text, ROOT, 1, 1);
      if (this.shownFor !== text) return;
      this.tree.replaceChildren(...items);
      this.tree.firstElementChild?.setAttribute("tabindex", "0");
      // Along the most probable way, as deep as it goes.
      for (let item = text.trim() ? items[0] : null; item?.hasAttribute("aria-expanded"); ) {
        await this.expand(item);
        item = item.querySelector(":scope > ul > li");
      }
    } catch (error) {
      this.fail(error);
    }
  }

  async below(text, node, level, above) {
    const entries = await this.source.open(text.trim() ? text : null, this.number, node);
    return entries.map((entry) => this.item(entry, level, above));
  }

  item(entry, level, above) {
    const chance = entry.chance === undefined ? null : entry.total ? entry.chance : above * entry.chance;
    const bar = h("span", { class: "bar", "aria-hidden": "true" });
    bar.style.setProperty("--share", (chance ?? 0).toFixed(4));
    const line = h("span", { class: "line" },
      h("span", { class: "twist", "aria-hidden": "true" }),
      h("span", { class: entry.id === null ? "name label" : "name" }, entry.title),
      h("span", { class: "soft note" }, entry.note),
      chance === null ? null : bar,
      chance === null ? null : h("span", { class: "share" }, percent(chance)));
    const item = h("li", {
      role: "treeitem", tabindex: "-1", "aria-level": level, "aria-expanded": entry.id === null ? null : "false",
      "aria-label": [entry.title, entry.note, chance === null ? "" : percent(chance)].filter(Boolean).join(", "),
      class: chance !== null && chance < 0.01 ? "unlikely" : "",
    }, line);
    Object.assign(item, { entry, chance: chance ?? 1, level });
    return item;
  }

  async expand(item) {
    if (item.querySelector(":scope > ul")) {
      item.querySelector(":scope > ul").hidden = false;
    } else {
      const children = await this.below(this.shownFor, item.entry.id, item.level + 1, item.chance);
      item.append(h("ul", { role: "group" }, children));
    }
    item.setAttribute("aria-expanded", "true");
  }

  collapse(item) {
    item.querySelector(":scope > ul").hidden = true;
    item.setAttribute("aria-expanded", "false");
  }

  async toggle(item) {
    try {
      if (item.getAttribute("aria-expanded") === "true") this.collapse(item);
      else if (item.hasAttribute("aria-expanded")) await this.expand(item);
    } catch (error) {
      this.fail(error);
    }
  }

  clicked(event) {
    const item = event.target.closest("[role=treeitem]");
    if (!item) return;
    this.focus(item);
    this.toggle(item);
  }

  focus(item) {
    for (const other of this.tree.querySelectorAll("[tabindex='0']")) other.setAttribute("tabindex", "-1");
    item.setAttribute("tabindex", "0");
    item.focus();
  }

  keys(event) {
    const item = event.target.closest("[role=treeitem]");
    if (!item || event.ctrlKey || event.metaKey || event.altKey) return;
    const seen = [...this.tree.querySelectorAll("[role=treeitem]")].filter((other) => !other.closest("ul[hidden]"));
    const place = seen.indexOf(item);
    const open = item.getAttribute("aria-expanded") === "true";
    const go = (target) => target && this.focus(target);
    switch (event.key) {
      case "ArrowDown": go(seen[place + 1]); break;
      case "ArrowUp": go(seen[place - 1]); break;
      case "Home": go(seen[0]); break;
      case "End": go(seen.at(-1)); break;
      case "ArrowRight": if (open) go(item.querySelector("[role=treeitem]")); else this.toggle(item); break;
      case "ArrowLeft": if (open) this.collapse(item); else go(item.parentElement.closest("[role=treeitem]")); break;
      case "Enter": case " ": this.toggle(item); break;
      default: return;
    }
    event.preventDefault();
  }
}
