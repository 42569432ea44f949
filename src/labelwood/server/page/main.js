// The start of the page: language, token, model, and which view is in front.

import * as api from "./api.js";
import { h, say } from "./dom.js";
import { firstLanguage, speak, t } from "./language.js";
import { ModelView } from "./model_view.js";
import { ReviewView } from "./review_view.js";
import { TagView } from "./tag_view.js";
import { labelTreeSource } from "./tree_source.js";
import { TreeView } from "./tree_view.js";

const NAMES = ["tag", "review", "tree", "model"];
const byId = (id) => document.getElementById(id);
let about = null;

// messages

let hiding = 0;

function message(text, kind) {
  const box = byId("problem");
  clearTimeout(hiding);
  box.className = kind;
  box.textContent = text;
  box.hidden = false;
  hiding = setTimeout(() => { box.hidden = true; }, kind === "problem" ? 15_000 : 5_000);
}

function tell(text) {
  message(text, "done");
}

function fail(error) {
  if (error instanceof api.Refusal) {
    message(error.status === 401 ? t("needs_token") : error.message, "problem");
    if (error.status === 401) askToken();
  } else {
    message(error instanceof TypeError ? t("offline") : error.message, "problem");
  }
}

// views

const views = {
  tag: new TagView(byId("tag"), { fail, tell, openTable }),
  review: new ReviewView(byId("review"), { fail, tell }),
  tree: new TreeView(byId("tree"), { fail, text: () => views.tag.text }),
  model: new ModelView(byId("model"), { fail, table: reviewedTable }),
};

function openTable(file) {
  location.hash = "review";
  views.review.open(file);
}

function reviewedTable() {
  const { table, choice } = views.review;
  if (!table || choice.tags < 0) return null;
  return { name: table.name, rows: views.review.texts().filter((row) => row.given.length && row.text.trim()) };
}

function render() {
  views.tag.render(about);
  views.review.render(about);
  views.tree.render(about, about.trees ? labelTreeSource(about) : null);
  views.model.render(about);
}

let name = "tag";

/** Show the view that the address names; "#main" and the like stay where they are. */
function front() {
  if (NAMES.includes(location.hash.slice(1))) name = location.hash.slice(1);
  for (const other of NAMES) byId(other).hidden = other !== name;
  for (const link of byId("views").children) {
    if (link.hash === `#${name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${t(`view_${name}`)} · labelwood`;
  if (about) views[name].enter?.();
}

// the service

async function connect() {
  try {
    about = await api.about();
  } catch (error) {
    fail(error);
    return;
  }
  const choice = byId("model-name");
  choice.replaceChildren(...about.models.map((name) => h("option", { value: name, selected: name === about.name }, name)));
  byId("model-choice").hidden = about.models.length < 2;
  render();
  front();
  if (!byId("tag").hidden) byId("text")?.focus();
}

function askToken() {
  const dialog = byId("token-dialog");
  if (!dialog.open) dialog.showModal();
}

byId("open-token").addEventListener("click", askToken);
byId("token-cancel").addEventListener("click", () => byId("token-dialog").close("cancel"));
byId("token-dialog").addEventListener("close", () => {
  if (byId("token-dialog").returnValue !== "use") return;
  api.useToken(byId("token").value);
  byId("token").value = "";
  say(t("token_kept"));
  byId("open-token").classList.toggle("set", api.hasToken());
  if (!about) connect();
});
byId("model-name").addEventListener("change", () => {
  api.useModel(byId("model-name").value);
  views.review.queue = null; // its answers are those of the other model
  connect();
});
byId("language").addEventListener("change", () => {
  speak(byId("language").value);
  if (about) render();
  front();
});
addEventListener("hashchange", front);

speak(firstLanguage());
byId("language").value = document.documentElement.lang;
front();
connect();
