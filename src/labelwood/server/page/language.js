// The interface in English and German; every text of the page comes from one of the two word lists.

import { DE } from "./words_de.js";
import { EN } from "./words_en.js";

const LISTS = { en: EN, de: DE };
const KEPT = "labelwood.language";
let current = "en";

/** The language the page speaks: "en" or "de". */
export function language() {
  return current;
}

/** The language chosen earlier, else the browser's, else English. */
export function firstLanguage() {
  let kept = null;
  try {
    kept = localStorage.getItem(KEPT);
  } catch {
    // storage is forbidden here; the browser's language has to do
  }
  const wanted = [kept, ...(navigator.languages ?? [navigator.language])].filter(Boolean);
  return wanted.map((name) => name.slice(0, 2).toLowerCase()).find((name) => name in LISTS) ?? "en";
}

/** Speak a language from now on; all elements with data-t and data-t-label change at once. */
export function speak(name) {
  current = name;
  try {
    localStorage.setItem(KEPT, name);
  } catch {
    // see above
  }
  document.documentElement.lang = name;
  for (const element of document.querySelectorAll("[data-t]")) element.textContent = t(element.dataset.t);
  for (const element of document.querySelectorAll("[data-t-label]")) {
    element.setAttribute("aria-label", t(element.dataset.tLabel));
  }
}

/** A text of the word list, with {names} filled in as far as they are given. */
export function t(key, values = {}) {
  const text = LISTS[current][key];
  if (text === undefined) throw new Error(`no text for ${key}`);
  return text.replace(/\{(\w+)\}/g, (whole, name) => (typeof values[name] === "number" ? number(values[name]) : values[name] ?? whole));
}

/** "1 row" or "5 rows": two texts, key_one and key_many. */
export function counted(key, n) {
  return t(`${key}_${n === 1 ? "one" : "many"}`, { n });
}

export function number(value, digits = 0) {
  return value.toLocaleString(current, { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** 0.724 as "72%" or "72 %". */
export function percent(share) {
  return share.toLocaleString(current, { style: "percent", maximumFractionDigits: share > 0 && share < 0.01 ? 1 : 0 });
}
