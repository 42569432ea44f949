// "Tag": a text, its tags while you type, the reason under pointer or focus, and corrections.

import * as api from "./api.js";
import { decoded } from "./csv.js";
import { button, calmed, h, say } from "./dom.js";
import { marked } from "./highlight.js";
import { counted, number, t } from "./language.js";
import { TagList } from "./tag_list.js";

const FEW = 10, MANY = 40;

export class TagView {
  /** fail(error): show what went wrong; tell(text): what was done; openTable(file): a table was dropped here. */
  constructor(root, { fail, tell, openTable }) {
    Object.assign(this, { root, fail, tell, openTable });
    this.text = "";
    this.labels = [];
    this.decided = new Map();
    this.past = [];
    this.k = FEW;
    this.asking = api.newest((text, k, signal) => api.predict([text], k, signal));
    this.askSoon = calmed(90, () => this.ask());
  }

  /** Build everything anew: at the start, for another language or another model. */
  render(about) {
    this.about = about;
    if (!about.takes.includes("texts")) {
      this.root.replaceChildren(h("h1", {}, t("tag_title")), h("p", { class: "sheet soft" }, t("features_only")));
      return;
    }
    this.tags = new TagList({
      decide: (name, belongs) => this.decide(name, belongs), undo: () => this.undo(), fail: this.fail,
      marks: (words) => this.backdrop.replaceChildren(...marked(this.text, words), "\n"),
    });
    this.backdrop = h("div", { class: "backdrop", "aria-hidden": "true" });
    this.area = h("textarea", {
      id: "text", "aria-label": t("text"), placeholder: t("text_hint"), spellcheck: "false", rows: "8",
      on: { input: () => this.typed(), keydown: (event) => this.areaKeys(event) },
    });
    this.area.value = this.text;
    const file = h("input", { type: "file", id: "text-file", hidden: true, on: { change: () => this.open(file.files[0]) } });
    this.size = h("span", { class: "soft" });
    this.count = h("span", { class: "count" });
    this.more = button("small", t("more_tags"), () => { this.k = this.k === FEW ? MANY : FEW; this.ask(); });
    const send = about.learn ? button("main", t("send"), () => this.send(), { id: "send" }) : null;
    const editor = h("div", { class: "sheet editor" },
      h("div", { class: "paper" }, this.backdrop, this.area),
      h("div", { class: "bar-below" }, this.size, h("span", { class: "actions" }, file,
        button("small", t("open_file"), () => file.click()), button("small", t("clear"), () => { this.set(""); this.area.focus(); }))));
    this.root.replaceChildren(
      h("h1", {}, t("tag_title")),
      h("div", { class: "two" },
        h("div", { class: "left" }, editor, h("div", { class: "sheet" }, this.tags.why)),
        h("div", { class: "sheet right" },
          h("div", { class: "heading" }, h("h2", {}, t("tags")), this.count, this.more),
          this.tags.element,
          h("div", { class: "actions end" }, button("quiet", t("undo"), () => this.undo()), button("quiet", t("copy"), () => this.copy()), send))));
    editor.addEventListener("dragover", (event) => { event.preventDefault(); editor.classList.add("over"); });
    editor.addEventListener("dragleave", () => editor.classList.remove("over"));
    editor.addEventListener("drop", (event) => {
      editor.classList.remove("over");
      if (!event.dataTransfer.files.length) return;
      event.preventDefault();
      this.open(event.dataTransfer.files[0]);
    });
    this.show();
    if (this.text) this.ask();
  }

  areaKeys(event) {
    if (event.key === "Escape" || (event.key === "Enter" && (event.ctrlKey || event.metaKey))) {
      event.preventDefault();
      this.tags.focus();
    }
  }

  typed() {
    this.text = this.area.value;
    this.backdrop.replaceChildren(`${this.text}\n`);
    this.size.textContent = counted("characters", this.text.length);
    this.askSoon();
  }

  set(text) {
    this.area.value = text;
    this.typed();
  }

  async open(file) {
    if (!file) return;
    if (/\.(csv|tsv)$/i.test(file.name)) return this.openTable(file);
    this.set(decoded(await file.arrayBuffer()));
  }

  async ask() {
    if (!this.text.trim()) {
      this.labels = [];
      this.decided.clear();
      this.past = [];
      return this.show();
    }
    try {
      const text = this.text;
      const answer = await this.asking(text, this.k);
      if (answer === undefined || this.text !== text) return;
      this.labels = answer[0];
      this.show();
    } catch (error) {
      this.fail(error);
    }
  }

  show() {
    const empty = !this.text.trim();
    this.size.textContent = counted("characters", this.text.length);
    const plain = this.labels.length > 0 && this.labels[0].assigned === undefined;
    const note = empty ? t("tags_hint") : this.labels.length ? (plain ? t("no_probability") : null) : t("no_tags");
    this.tags.show({ text: this.text, labels: this.labels, given: null, decided: this.decided, owner: this }, note);
    this.more.hidden = this.labels.length < FEW;
    this.more.textContent = this.k === FEW ? t("more_tags") : `${number(FEW)}`;
    this.more.setAttribute("aria-pressed", String(this.k !== FEW));
    const n = this.tags.tags().length;
    this.count.textContent = empty ? "" : counted("in_result", n);
    for (const element of this.root.querySelectorAll(".right .actions button")) element.disabled = empty;
  }

  decide(name, belongs) {
    this.past.push(new Map(this.decided));
    this.decided.set(name, belongs);
    this.show();
  }

  undo() {
    const before = this.past.pop();
    if (before) this.decided = before;
    say(t(before ? "undone" : "nothing_to_undo"));
    this.show();
  }

  async copy() {
    const tags = this.tags.tags().join("; ");
    try {
      await navigator.clipboard.writeText(tags);
      this.tell(t("copied", { tags }));
    } catch (error) {
      this.fail(error);
    }
  }

  async send() {
    try {
      const { accepted } = await api.learn([this.text], [this.tags.tags()]);
      this.tell(counted("sent", accepted));
    } catch (error) {
      this.fail(error);
    }
  }
}
