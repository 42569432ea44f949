// "Model": what the model is, in figures and pictures; the last ones are measured on the file under review.

import * as api from "./api.js";
import { button, h } from "./dom.js";
import { language, number, percent, t } from "./language.js";
import { curvePicture, reliabilityPicture, rowsPicture } from "./pictures.js";

const MEASURED_ROWS = 1000; // what the service takes at once

export class ModelView {
  /** table(): {name, rows: [{text, given}]} of the file under review, or null if it has no tags. */
  constructor(root, { fail, table }) {
    Object.assign(this, { root, fail, table });
  }

  render(about) {
    this.about = about;
    this.card = null;
    this.measured = null;
    this.root.replaceChildren(h("h1", {}, t("model_title")));
  }

  async enter() {
    try {
      this.card ??= await api.card();
      this.show();
    } catch (error) {
      this.fail(error);
    }
  }

  show() {
    const { about, card } = this;
    this.root.replaceChildren(
      h("h1", {}, t("model_title")),
      h("div", { class: "cards" },
        h("div", { class: "sheet" }, h("h2", {}, about.name), this.facts(), this.parameters()),
        card.sure ? this.heldOut(card.sure) : h("div", { class: "sheet" }, h("h2", {}, t("held_title")), h("p", { class: "soft" }, t("no_sure"))),
        this.rowsFigure(),
        card.sure ? figure(t("curve_title"), curvePicture(card.sure.curves, { title: t("curve_title"), across: t("curve_axis"), up: t("curve_up"), ...bandNames() }), t("curve_note"), bandKey()) : null),
      this.measureSection());
  }

  facts() {
    const { about, card } = this;
    const date = about.created ? new Date(about.created).toLocaleString(language(), { dateStyle: "medium", timeStyle: "short" }) : null;
    const lines = [
      ["model_kind", about.model], ["model_labels", number(about.n_labels)], ["model_rows", number(about.n_rows)],
      ["model_features", number(about.n_features)], ["model_rule", card.sure?.rule], ["model_created", date], ["model_version", about.version.slice(0, 12)],
    ];
    return h("dl", {}, lines.filter(([, value]) => value).flatMap(([key, value]) => [h("dt", {}, t(key)), h("dd", {}, value)]));
  }

  parameters() {
    const lines = Object.entries(this.card.parameters).flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, `${value}`)]);
    return h("details", {}, h("summary", {}, t("model_parameters")), h("dl", { class: "code" }, lines));
  }

  heldOut({ held_out: held, note }) {
    return h("div", { class: "sheet" }, h("h2", {}, t("held_title")),
      h("div", { class: "numbers" }, ["precision", "recall", "f1"].filter((name) => name in held).map((name) => bigNumber(percent(held[name]), t(`held_${name}`)))),
      h("p", { class: "soft" }, t("held_rows", { n: held.rows ?? 0 })), note ? h("p", { class: "soft" }, note) : null);
  }

  rowsFigure() {
    const [head, torso] = this.card.bands;
    const band = (rows) => (rows >= head.least && head.n_labels ? "head" : rows >= torso.least && torso.n_labels ? "torso" : "tail");
    const counts = Object.fromEntries(this.card.bands.map((entry) => [entry.band, number(entry.n_labels)]));
    const words = { title: t("rows_title"), across: t("rows_axis"), up: t("rows_up") };
    return figure(t("rows_title"), rowsPicture(this.card.label_rows, band, words), t("rows_note"), bandKey(counts));
  }

  measureSection() {
    const table = this.table();
    const box = h("section", { class: "measured" }, h("h2", {}, t("measure_title")));
    if (!table) {
      box.append(h("p", { class: "soft lead" }, t("measure_lead")));
      return box;
    }
    const rows = table.rows.slice(0, MEASURED_ROWS);
    const measure = button("main", t("measure_do"), async () => {
      measure.disabled = true;
      measure.textContent = t("measure_running");
      try {
        this.measured = await api.judge(rows.map((row) => row.text), rows.map((row) => row.given));
      } catch (error) {
        this.fail(error);
      }
      this.show();
    }, { id: "measure" });
    box.append(h("p", { class: "soft" }, t("measure_of", { n: rows.length, name: table.name })), measure);
    if (this.measured) box.append(...this.results(this.measured));
    return box;
  }

  results(answer) {
    const { measured } = answer;
    const notes = [
      answer.n_unknown ? t("measure_unknown", { n: answer.n_unknown }) : null,
      measured ? null : t("measure_plain"),
    ].filter(Boolean);
    const parts = notes.map((note) => h("p", { class: "soft" }, note));
    if (measured) {
      const spread = ([value, low, high]) => [percent(value / 100), `${percent(low / 100)} – ${percent(high / 100)}`];
      parts.push(h("div", { class: "numbers" }, ["precision", "recall", "f1"].map((name) => {
        const [value, range] = spread(measured.figures[name]);
        return bigNumber(value, t(`held_${name}`), range);
      })));
    }
    const cards = h("div", { class: "cards" });
    if (measured) {
      const words = { title: t("reliability_title"), across: t("reliability_axis"), up: t("reliability_up") };
      const error = percent(measured.calibration_error);
      cards.append(figure(t("reliability_title"), reliabilityPicture(measured.reliability, words), t("reliability_note", { error })));
    }
    cards.append(h("div", { class: "sheet" }, h("h3", {}, t("bands_title")), h("ul", { class: "meters" }, answer.bands.map((band) => {
      const share = band.n_true ? band.n_found / band.n_true : 0;
      return meter(t(`band_${band.band}`), share, `${percent(share)} · ${number(band.n_found)}/${number(band.n_true)}`, band.band);
    })), h("p", { class: "soft" }, t("bands_note", { n: answer.places }))));
    if (measured) {
      const most = Math.max(1, ...measured.confusions.map((pair) => pair.rows));
      cards.append(h("div", { class: "sheet" }, h("h3", {}, t("confusions_title")), measured.confusions.length
        ? h("ul", { class: "meters" }, measured.confusions.map((pair) => meter(t("confusion", pair), pair.rows / most, number(pair.rows), "warm")))
        : h("p", { class: "soft" }, t("confusions_none"))));
    }
    return [...parts, cards];
  }
}

function bandNames() {
  return { head: t("band_head"), torso: t("band_torso"), tail: t("band_tail") };
}

/** The colours of the bands; counts: a number beside each. */
function bandKey(counts = {}) {
  const entries = Object.entries(bandNames());
  return h("ul", { class: "key" }, entries.map(([band, name]) => h("li", {}, h("span", { class: `swatch ${band}`, "aria-hidden": "true" }), counts[band] === undefined ? name : `${name} ${counts[band]}`)));
}

function figure(title, picture, note, key = null) {
  return h("figure", { class: "sheet" }, h("h3", {}, title), picture, key, h("figcaption", { class: "soft" }, note));
}

function bigNumber(value, text, range = null) {
  return h("div", {}, h("b", {}, value), range ? h("small", {}, range) : null, h("span", { class: "soft" }, text));
}

function meter(name, share, text, kind) {
  const bar = h("span", { class: `bar ${kind}`, "aria-hidden": "true" });
  bar.style.setProperty("--share", share.toFixed(4));
  return h("li", {}, h("span", { class: "name" }, name), h("span", { class: "share" }, text), bar);
}
