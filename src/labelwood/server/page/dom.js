// Small helpers for building elements. No text is ever read as HTML, and no style attribute is written (strict CSP).

const SVG = "http://www.w3.org/2000/svg";

/** An element with attributes and children; `on` holds listeners, null and false attributes are left out. */
export function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function s(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    } else if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** A button of one of the page's kinds: "main", "quiet" or "small". */
export function button(kind, text, click, attributes = {}) {
  return h("button", { type: "button", class: kind, on: { click }, ...attributes }, text);
}

/** Tell a screen reader something that is seen elsewhere. */
export function say(text) {
  document.getElementById("said").textContent = text;
}

/** Calls that come quickly become one, `wait` milliseconds after the last. */
export function calmed(wait, work) {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...given), wait);
  };
}

/** Offer a text as a file. */
export function download(name, kind, text) {
  const url = URL.createObjectURL(new Blob([text], { type: kind }));
  const link = h("a", { href: url, download: name, hidden: true });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
