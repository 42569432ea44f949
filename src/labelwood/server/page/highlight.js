// Where the words of a reason stand in a text.

const TOKEN = /[\p{L}\p{M}\p{N}_]+/gu;
const FAINT = 0.15; // words that push less than this share of the strongest stay unmarked

/** The places of words and phrases with their pushes: [{start, end, push}], in order, none overlapping. */
export function places(text, words) {
  const pushes = new Map(words.map(({ word, push }) => [word.toLowerCase(), push]));
  const longest = Math.max(1, ...words.map(({ word }) => word.split(" ").length));
  const tokens = [...text.matchAll(TOKEN)].map((match) => ({
    word: match[0].toLowerCase(),
    start: match.index,
    end: match.index + match[0].length,
  }));
  const found = [];
  for (let first = 0; first < tokens.length; ) {
    let taken = 0;
    for (let n = Math.min(longest, tokens.length - first); n > 0 && !taken; n -= 1) {
      const group = tokens.slice(first, first + n);
      const push = pushes.get(group.map((token) => token.word).join(" "));
      if (push) {
        found.push({ start: group[0].start, end: group[n - 1].end, push });
        taken = n;
      }
    }
    first += taken || 1;
  }
  return found;
}

/** The text as nodes with the words of a reason marked; strength is the share of the strongest push. */
export function marked(text, words) {
  const all = places(text, words);
  const strongest = all.reduce((most, { push }) => Math.max(most, Math.abs(push)), 1e-9);
  const found = all.filter(({ push }) => Math.abs(push) >= FAINT * strongest);
  const nodes = [];
  let at = 0;
  for (const { start, end, push } of found) {
    const mark = document.createElement("mark");
    mark.className = push > 0 ? "for" : "against";
    mark.style.setProperty("--strength", (Math.abs(push) / strongest).toFixed(2));
    mark.textContent = text.slice(start, end);
    nodes.push(text.slice(at, start), mark);
    at = end;
  }
  nodes.push(text.slice(at));
  return nodes;
}
