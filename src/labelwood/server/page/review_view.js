// "Review": a CSV file, row by row, what needs a person first; decisions, the way back, export, corrections.

import * as api from "./api.js";
import { decoded, guessedSeparator, parse, SEPARATORS, tagsOf, written } from "./csv.js";
import { button, download, h, say } from "./dom.js";
import { marked } from "./highlight.js";
import { counted, t } from "./language.js";
import { finalTags, Queue } from "./queue.js";
import { keyed, TagList } from "./tag_list.js";

const ANSWERS = 15; // labels a row
const PART_ROWS = 50, PART_CHARACTERS = 2_000_000; // of one request: well below what a service takes

/** Rows in parts that fit into a request. */
function* parts(rows) {
  let part = [], characters = 0;
  for (const row of rows) {
    if (part.length && (part.length === PART_ROWS || characters + row.text.length > PART_CHARACTERS)) {
      yield part;
      [part, characters] = [[], 0];
    }
    part.push(row);
    characters += row.text.length;
  }
  if (part.length) yield part;
}

export class ReviewView {
  constructor(root, { fail, tell }) {
    Object.assign(this, { root, fail, tell });
    this.table = null; // {name, columns, rows, delimiter}
    this.choice = null; // {text: places of columns, tags, separator, order}
    this.queue = null;
  }

  render(about) {
    this.about = about;
    if (!about.takes.includes("texts")) this.root.replaceChildren(h("h1", {}, t("review_title")), h("p", { class: "sheet soft" }, t("features_only")));
    else if (this.queue) this.renderQueue();
    else if (this.table) this.renderChoice();
    else this.renderStart();
  }

  // the file

  renderStart() {
    const file = h("input", { type: "file", id: "table-file", accept: ".csv,.tsv,text/csv", hidden: true, on: { change: () => this.open(file.files[0]) } });
    const drop = h("div", { class: "sheet drop" }, h("p", { class: "big" }, t("review_drop")), file, button("main", t("review_choose"), () => file.click()));
    drop.addEventListener("dragover", (event) => { event.preventDefault(); drop.classList.add("over"); });
    drop.addEventListener("dragleave", () => drop.classList.remove("over"));
    drop.addEventListener("drop", (event) => { event.preventDefault(); drop.classList.remove("over"); this.open(event.dataTransfer.files[0]); });
    this.root.replaceChildren(h("h1", {}, t("review_title")), h("p", { class: "soft lead" }, t("review_lead")), drop);
  }

  async open(file) {
    if (!file) return;
    const table = parse(decoded(await file.arrayBuffer()));
    if (!table.rows.length) return this.fail(new Error(t("review_empty")));
    this.table = { ...table, name: file.name };
    this.queue = null;
    const lengths = table.columns.map((_, place) => table.rows.slice(0, 50).reduce((sum, row) => sum + row[place].length, 0));
    const named = (pattern) => table.columns.findIndex((name) => pattern.test(name));
    const text = named(/^(text|abstract|content|inhalt|beschreibung|description)$/i);
    const trainedTags = this.about.table?.labels.length === 1 ? table.columns.indexOf(this.about.table.labels[0]) : -1;
    const tags = trainedTags >= 0 ? trainedTags : named(/^(labels?|tags?|subjects?|keywords?|schlagw(ort|orte|örter)|themen)$/i);
    const longest = lengths.indexOf(Math.max(...lengths));
    const trained = this.trainedText();
    this.choice = {
      text: trained.length ? trained : [text >= 0 ? text : longest], tags,
      separator: guessedSeparator(tags >= 0 ? table.rows.slice(0, 200).map((row) => row[tags]) : [], table.delimiter),
      order: tags >= 0 ? "disagree" : "unsure",
    };
    this.renderChoice();
  }

  /** The places of the columns that the model learnt its texts from; [] if one is not there. */
  trainedText() {
    const places = (this.about.table?.text ?? []).map((name) => this.table.columns.indexOf(name));
    return places.includes(-1) ? [] : places;
  }

  renderChoice() {
    const { columns, rows } = this.table;
    const choose = (id, key, options, value, change) => {
      const select = h("select", { id, on: { change: () => { change(select.value); this.renderChoice(); document.getElementById(id)?.focus(); } } },
        options.map(([name, text]) => h("option", { value: name, selected: String(name) === String(value) }, text)));
      return h("label", { class: "field" }, h("span", {}, t(key)), select);
    };
    const named = columns.map((name, place) => [place, name || `${place + 1}`]);
    const trained = this.trainedText();
    const texts = trained.length > 1 ? [[trained.join(","), trained.map((place) => columns[place]).join(" + ")], ...named] : named;
    const signs = SEPARATORS.map((sign) => [sign, sign === "\n" ? t("review_line_break") : sign]);
    const { choice } = this;
    const hasTags = choice.tags >= 0;
    const orders = ["unsure", ...(hasTags ? ["disagree"] : []), "file"].map((name) => [name, t(`order_${name}`)]);
    if (!hasTags && choice.order === "disagree") choice.order = "unsure";
    const shown = [...new Set([...choice.text, ...(hasTags ? [choice.tags] : [])])];
    this.root.replaceChildren(
      h("h1", {}, t("review_title")),
      h("div", { class: "sheet" },
        h("div", { class: "heading" }, h("h2", {}, this.table.name), h("span", { class: "count" }, counted("rows", rows.length))),
        h("div", { class: "fields" },
          choose("column-text", "review_text", texts, choice.text.join(","), (value) => { choice.text = value.split(",").map(Number); }),
          choose("column-tags", "review_tags", [[-1, t("review_no_tags")], ...named], choice.tags, (value) => { choice.tags = Number(value); }),
          hasTags ? choose("separator", "review_separator", signs, choice.separator, (value) => { choice.separator = value; }) : null,
          choose("order", "review_order", orders, choice.order, (value) => { choice.order = value; })),
        h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": this.table.name }, h("table", {},
          h("thead", {}, h("tr", {}, shown.map((place) => h("th", { scope: "col" }, columns[place])))),
          h("tbody", {}, rows.slice(0, 3).map((row) => h("tr", {}, shown.map((place) => h("td", {}, row[place].slice(0, 160)))))))),
        h("p", { id: "asking", class: "soft", role: "status" }),
        h("div", { class: "actions end" }, button("quiet", t("review_other"), () => this.forget()), button("main", t("review_start"), () => this.start(), { id: "start" }))));
  }

  forget() {
    Object.assign(this, { table: null, queue: null });
    this.render(this.about);
  }

  /** All rows as {text, given}; given is null if the file has no tags. */
  texts() {
    const { text, tags, separator } = this.choice;
    return this.table.rows.map((row) => ({ text: text.map((place) => row[place]).filter(Boolean).join("\n"), given: tags >= 0 ? tagsOf(row[tags], separator) : null }));
  }

  async start() {
    const rows = this.texts();
    document.getElementById("start").disabled = true;
    try {
      let n = 0;
      for (const part of parts(rows)) {
        document.getElementById("asking").textContent = t("review_asking", { n: n + 1, all: rows.length });
        const answers = await api.patiently(() => api.predict(part.map((row) => row.text), ANSWERS));
        n += part.length;
        part.forEach((row, place) => Object.assign(row, { labels: answers[place], decided: new Map(), done: false, sent: false }));
      }
      rows.forEach((row, number) => { row.number = number; });
      this.queue = new Queue(rows, this.choice.order);
      this.renderQueue();
      this.tags.focus();
    } catch (error) {
      this.fail(error);
      this.renderChoice();
    }
  }

  // the queue

  renderQueue() {
    this.tags = new TagList({
      decide: (name, belongs) => { this.queue.decide(name, belongs); this.show(); },
      undo: () => this.undo(), fail: this.fail,
      marks: (words) => this.paper.replaceChildren(...marked(this.queue.row.text, words)),
    });
    this.paper = h("div", { class: "paper read", id: "row-text", tabindex: "0", role: "region", "aria-label": t("text") });
    this.progress = h("progress", { id: "progress", max: this.queue.rows.length, value: 0, "aria-label": t("view_review") });
    this.told = h("span", { id: "told", class: "soft" });
    this.title = h("h2", {});
    const key = (text) => h("kbd", {}, text);
    const help = h("p", { class: "keys" }, keyed(t("review_keys"), { enter: key("Enter"), s: key("S"), b: key("B") }));
    const box = h("div", { class: "two", on: { keydown: (event) => this.keys(event) } },
      h("div", { class: "left" }, h("div", { class: "sheet" }, h("div", { class: "heading" }, this.title), this.paper), h("div", { class: "sheet" }, this.tags.why)),
      h("div", { class: "sheet right" }, h("div", { class: "heading" }, h("h2", {}, t("tags")), h("span", { class: "count", id: "row-count" })), this.tags.element, help,
        h("div", { class: "actions end" },
          button("quiet", t("review_back"), () => this.back()), button("quiet", t("undo"), () => this.undo(), { id: "undo" }),
          button("quiet", t("review_skip"), () => this.skip()), button("main", t("review_done"), () => this.finish(), { id: "done" }))));
    this.root.replaceChildren(
      h("div", { class: "heading" }, h("h1", {}, this.table.name), h("span", { class: "actions" },
        button("small", t("review_other"), () => this.forget()),
        button("small", t("review_export"), () => this.export(), { id: "export" }),
        this.about.learn ? button("small", t("review_send"), () => this.send(), { id: "send-all" }) : null)),
      h("div", { class: "progress" }, this.progress, this.told), box,
      ...(this.about.learn ? [] : [h("p", { class: "soft" }, t("review_no_learn"))]));
    this.show();
  }

  show() {
    const { row, rows, nDone } = this.queue;
    this.title.textContent = t("review_row", { n: row.number + 1 }) + (row.done ? " ✓" : "");
    this.paper.textContent = row.text;
    this.progress.value = nDone;
    this.told.textContent = nDone === rows.length ? t("review_all_done") : t("review_progress", { n: nDone, all: rows.length });
    this.tags.show({ ...row, owner: row }, row.labels.length ? null : t("no_tags"));
    document.getElementById("row-count").textContent = counted("in_result", this.tags.tags().length);
  }

  keys(event) {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (["INPUT", "BUTTON", "SELECT"].includes(event.target.tagName)) return;
    const key = event.key.toLowerCase();
    if (key === "enter") this.finish();
    else if (key === "s") this.skip();
    else if (key === "b") this.back();
    else return;
    event.preventDefault();
  }

  finish() {
    this.queue.finish();
    this.moved();
  }

  skip() {
    this.queue.forward();
    this.moved();
  }

  back() {
    this.queue.move(-1);
    this.moved();
  }

  moved() {
    this.show();
    this.tags.focus();
    say(`${this.title.textContent}. ${this.told.textContent}`);
  }

  undo() {
    const done = this.queue.undo();
    this.show();
    this.tags.focus();
    say(t(done ? "undone" : "nothing_to_undo"));
  }

  export() {
    const { columns, rows, delimiter, name } = this.table;
    const separator = this.choice.separator;
    const unused = (wanted) => (columns.includes(wanted) ? unused(`${wanted}_`) : wanted);
    const lines = this.queue.rows.map((row, number) => {
      const tags = row.done ? finalTags(row) : row.given ?? [];
      return [...rows[number], tags.join(separator), t(row.done ? "yes" : "no")];
    });
    const text = written([[...columns, unused(t("tags_column")), unused(t("state_column"))], ...lines], delimiter);
    download(name.replace(/(\.\w+)?$/, "-reviewed.csv"), "text/csv;charset=utf-8", `\ufeff${text}`);
  }

  async send() {
    const rows = this.queue.unsent();
    if (!rows.length) return this.tell(t("review_sent_already"));
    let n = 0;
    try {
      for (const part of parts(rows)) {
        const answer = await api.patiently(() => api.learn(part.map((row) => row.text), part.map(finalTags)));
        for (const row of part) row.sent = true;
        n += answer.accepted;
      }
      this.tell(counted("sent", n));
    } catch (error) {
      this.fail(error);
    }
  }
}
