// The tags of one text: what the model says, what a person decides, and why. Used for single texts and in the review.

import { explain, labels, newest } from "./api.js";
import { calmed, h, say } from "./dom.js";
import { labelSearch } from "./label_search.js";
import { number, percent, t } from "./language.js";
import { belongs, finalTags, sureness } from "./queue.js";

const WHY_WORDS = 6;

// Where the pointer was last; browsers also report a "move" when something appears under it.
const placeOf = (event) => `${event.clientX} ${event.clientY}`;
let restingPlace = "";
for (const kind of ["pointermove", "pointerdown"]) {
  document.addEventListener(kind, (event) => { restingPlace = placeOf(event); });
}

/** What of a row is to be shown: the model's answers, surest first, then given and added tags it does not name. */
function entries({ labels, given, decided }) {
  const byName = new Map(labels.map((label) => [label.name, label]));
  const further = [...(given ?? []), ...decided.keys()].filter((name) => !byName.has(name));
  return [...labels.toSorted((a, b) => sureness(b) - sureness(a)), ...new Set(further)].map((entry) => (typeof entry === "string" ? { name: entry } : entry));
}

/**
 * The list of tags beside a text.
 * decide(name, belongs), undo(): what the owner does with them; marks(words): show reasons in the text; fail(error).
 */
export class TagList {
  constructor({ decide, undo, marks, fail }) {
    Object.assign(this, { decide, undo, marks, fail });
    this.row = null;
    this.current = 0;
    this.reasons = new Map();
    this.asking = newest(async (text, entry, signal) => {
      const known = entry.score !== undefined || (await isKnown(entry.name, signal));
      return known ? explain(text, entry.name, signal) : { words: [], rows: [], sides: [], rest: 0 };
    });
    this.explainSoon = calmed(60, () => this.explainNow());
    this.build();
  }

  build() {
    this.list = h("ul", { class: "tags", "aria-label": t("tags") });
    this.why = h("div", { class: "why" });
    this.search = labelSearch((name) => this.add(name), this.fail);
    const key = (text) => h("kbd", {}, text);
    const help = h("p", { class: "keys" }, key("↑"), key("↓"), " ", keyed(t("tag_keys"), { a: key("A"), r: key("R"), z: key("Z"), slash: key("/") }));
    this.element = h("div", { class: "tag-side", on: { keydown: (event) => this.keys(event) } }, this.list, this.search.element, help);
  }

  /** Show a row {text, labels, given, decided}; note: what to say when there is nothing. */
  show(row, note) {
    if (!this.row || this.row.text !== row.text) {
      this.reasons.clear();
      this.explained = null;
      if (this.row?.owner !== row.owner) this.current = 0;
    }
    const hadFocus = this.list.contains(document.activeElement);
    this.row = row;
    this.shown = entries(row);
    this.current = Math.min(this.current, Math.max(0, this.shown.length - 1));
    this.list.replaceChildren(...this.shown.map((entry, place) => this.item(entry, place)));
    this.list.hidden = !this.shown.length;
    if (hadFocus) this.focus();
    if (!this.shown.length || this.explained === null) this.showWhy(null, note);
    if (hadFocus || this.explained) this.explainSoon();
  }

  item(entry, place) {
    const { given, decided } = this.row;
    const inside = belongs(entry.name, entry, given, decided);
    const state = this.state(entry, inside);
    const sure = entry.score === undefined ? null : sureness(entry);
    const shown = sure === null ? "" : entry.probability === undefined ? number(sure, 2) : percent(sure);
    const bar = h("span", { class: "bar", "aria-hidden": "true" });
    bar.style.setProperty("--share", Math.min(1, Math.max(0, sure ?? 0)).toFixed(4));
    const small = (kind, key, belonging) =>
      h("button", { type: "button", class: `decide ${kind}`, tabindex: "-1", title: t(kind), "aria-label": t(key, { name: titleOf(entry) }),
        "aria-pressed": String(decided.get(entry.name) === belonging), on: { click: () => this.decideOn(place, belonging) } }, kind === "accept" ? "✓" : "✕");
    const group = h("div", {
      class: "tag", role: "group", tabindex: place === this.current ? "0" : "-1", "data-name": entry.name,
      "aria-label": [titleOf(entry), shown, state.text].filter(Boolean).join(", "), "aria-keyshortcuts": "A R",
      on: { focus: () => this.point(place), pointermove: (event) => this.moved(event, place) },
    },
      h("span", { class: "dot", "aria-hidden": "true" }, inside ? "✓" : ""),
      h("span", { class: "title" }, h("span", { class: "name" }, titleOf(entry)), h("span", { class: "state" }, state.text)),
      h("span", { class: "share" }, shown),
      bar,
      h("span", { class: "decisions" }, small("accept", "accept_tag", true), small("reject", "reject_tag", false)),
    );
    return h("li", { class: [inside ? "in" : "out", state.kind].join(" ") }, group);
  }

  /** How an entry stands, in a word: decided by the person, else by the file, else by the model. */
  state(entry, inside) {
    const decision = this.row.decided.get(entry.name);
    const known = entry.score !== undefined || this.row.given?.includes(entry.name);
    if (decision !== undefined) return { kind: "decided", text: decision ? t(known ? "accepted" : "added") : t("rejected") };
    if (this.row.given !== null) {
      const wanted = entry.assigned ?? (entry.score === undefined ? false : sureness(entry) >= 0.5);
      if (inside && !wanted) return { kind: "disagree", text: t("disagrees_given") };
      if (!inside && wanted) return { kind: "disagree", text: t("disagrees_missing") };
      return { kind: "", text: t(inside ? "given" : "not_given") };
    }
    if (entry.assigned === undefined) return { kind: "", text: "" };
    return { kind: "", text: t(inside ? "assigned" : "not_assigned") };
  }

  groups() {
    return [...this.list.querySelectorAll(".tag")];
  }

  focus() {
    this.groups()[this.current]?.focus();
  }

  /** A row that appears under a resting pointer is not pointed at. */
  moved(event, place) {
    const other = this.explained !== this.shown[place].name;
    if (other && placeOf(event) !== restingPlace) this.point(place);
  }

  point(place) {
    if (this.current !== place || this.explained === null) {
      this.groups()[this.current]?.setAttribute("tabindex", "-1");
      this.current = place;
      this.groups()[place]?.setAttribute("tabindex", "0");
    }
    this.explainSoon();
  }

  decideOn(place, belonging) {
    const entry = this.shown[place];
    if (!entry) return;
    this.current = place;
    this.decide(entry.name, belonging);
    say(`${titleOf(entry)}: ${t(belonging ? "accepted" : "rejected")}`);
  }

  add(name) {
    this.decide(name, true);
    say(`${name}: ${t("added")}`);
    this.current = Math.max(0, this.shown.findIndex((entry) => entry.name === name));
    this.focus();
  }

  keys(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "INPUT") return;
    const last = this.shown?.length - 1;
    const to = { ArrowDown: Math.min(last, this.current + 1), ArrowUp: Math.max(0, this.current - 1), Home: 0, End: last }[event.key];
    const key = event.key.toLowerCase();
    if (to !== undefined) {
      this.groups()[to]?.focus();
    } else if (key === "a" || key === "+") this.decideOn(this.current, true);
    else if (key === "r" || key === "delete") this.decideOn(this.current, false);
    else if (key === "z") this.undo();
    else if (key === "/") this.search.focus();
    else return;
    event.preventDefault();
  }

  tags() {
    return this.row ? finalTags(this.row) : [];
  }

  // reasons

  async explainNow() {
    const entry = this.shown?.[this.current];
    const text = this.row?.text;
    if (!entry || !text) return;
    try {
      if (!this.reasons.has(entry.name)) {
        const answer = await this.asking(text, entry);
        if (!answer || this.row.text !== text) return;
        this.reasons.set(entry.name, answer);
      }
      this.explained = entry.name;
      this.showWhy(entry.name, null, this.reasons.get(entry.name));
    } catch (error) {
      this.fail(error);
    }
  }

  showWhy(name, note, reason = null) {
    this.marks(reason?.words ?? []);
    for (const group of this.groups()) group.classList.toggle("explained", name !== null && group.dataset.name === name);
    if (!reason) {
      this.why.replaceChildren(h("p", { class: "soft" }, note ?? t("why_hint")));
      return;
    }
    const sides = reason.sides.filter(({ push }) => Math.abs(push) >= 0.005); // others would show as 0.00
    const shown = [...reason.words.slice(0, WHY_WORDS), ...sides];
    const rest = reason.rest + reason.words.slice(WHY_WORDS).reduce((sum, word) => sum + word.push, 0);
    const strongest = Math.max(...shown.map((word) => Math.abs(word.push)), 1e-9);
    const lines = shown.map(({ word, push }) => {
      const bar = h("span", { class: `push ${push > 0 ? "for" : "against"}`, "aria-hidden": "true" });
      bar.style.setProperty("--share", (Math.abs(push) / strongest).toFixed(3));
      const told = h("span", { class: "unseen" }, ` ${t(push > 0 ? "why_for" : "why_against")} `);
      return h("li", {}, h("span", { class: "word" }, word), told, bar, h("span", { class: "share" }, signed(push)));
    });
    if (shown.length) {
      lines.push(h("li", { class: "soft" }, h("span", { class: "word" }, t("why_rest")), h("span", { class: "push" }), h("span", { class: "share" }, signed(rest))));
    }
    const voters = reason.rows.filter((row) => row.text).slice(0, 3);
    this.why.replaceChildren(
      h("h2", {}, t("why", { name: titleOf(this.shown.find((entry) => entry.name === name) ?? { name }) })),
      lines.length ? h("ul", { class: "pushes" }, lines) : h("p", { class: "soft" }, t("why_none")),
      ...(voters.length ? [h("h3", {}, t("why_rows")), h("ul", { class: "voters" }, voters.map((row) => h("li", {}, row.text)))] : []),
    );
  }
}

/** What a label is called: its name in the vocabulary, where its own is an id. */
export function titleOf(label) {
  return label.title ?? label.name;
}

/** Whether the model knows a tag that it did not answer: one of a file, or an added one. */
async function isKnown(name, signal) {
  const answer = await labels(name, 20, signal);
  return answer.labels.some((label) => label.name === name);
}

function signed(value) {
  return (value < 0 ? "−" : "+") + number(Math.abs(value), 2);
}

/** A text with {names} replaced by elements. */
export function keyed(text, elements) {
  return text.split(/(\{\w+\})/).map((part) => elements[part.slice(1, -1)] ?? part);
}
