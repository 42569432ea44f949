// The pictures of the model card as SVG; colours come from the style sheet, so that they follow light and dark.

import { s } from "./dom.js";
import { number, percent } from "./language.js";

const WIDTH = 420, HEIGHT = 250, LEFT = 64, RIGHT = 14, TOP = 14, BOTTOM = 46;
const INNER_WIDTH = WIDTH - LEFT - RIGHT, INNER_HEIGHT = HEIGHT - TOP - BOTTOM;

function frame(label, across, up, ...marks) {
  return s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label, class: "picture" },
    s("line", { class: "axis", x1: LEFT, y1: TOP + INNER_HEIGHT, x2: LEFT + INNER_WIDTH, y2: TOP + INNER_HEIGHT }), ...marks,
    s("text", { class: "axis-name", x: LEFT + INNER_WIDTH / 2, y: HEIGHT - 6, "text-anchor": "middle" }, across),
    s("text", { class: "axis-name", "text-anchor": "middle", transform: `translate(13 ${TOP + INNER_HEIGHT / 2}) rotate(-90)` }, up));
}

const atX = (share) => LEFT + share * INNER_WIDTH;
const atY = (share) => TOP + (1 - share) * INNER_HEIGHT;

function shareGrid(x) {
  const ticks = [0, 0.25, 0.5, 0.75, 1];
  return [
    ...ticks.flatMap((tick) => [
      s("line", { class: "grid", x1: LEFT, x2: LEFT + INNER_WIDTH, y1: atY(tick), y2: atY(tick) }),
      s("text", { x: LEFT - 7, y: atY(tick) + 4, "text-anchor": "end" }, percent(tick))]),
    ...ticks.map((tick) => s("text", { x: atX(tick), y: TOP + INNER_HEIGHT + 17, "text-anchor": "middle" }, x(tick))),
  ];
}

/** How many labels have how many rows: a bar a power of two; band(rows) names the colour. */
export function rowsPicture(bins, band, words) {
  const tallest = Math.max(1, ...bins.map((bin) => bin.n_labels));
  const step = INNER_WIDTH / bins.length;
  const every = Math.ceil(bins.length / 9);
  const bars = bins.map((bin, place) => {
    const height = (bin.n_labels / tallest) * INNER_HEIGHT;
    const range = bin.least === bin.most ? number(bin.least) : `${number(bin.least)}–${number(bin.most)}`;
    return s("g", {},
      s("rect", { class: `fill ${band((bin.least + bin.most) / 2)}`, x: LEFT + place * step + 1.5, width: Math.max(1, step - 3), y: TOP + INNER_HEIGHT - height, height, rx: 2 },
        s("title", {}, `${range}: ${number(bin.n_labels)}`)),
      place % every ? "" : s("text", { x: LEFT + (place + 0.5) * step, y: TOP + INNER_HEIGHT + 17, "text-anchor": "middle" }, number(bin.least)));
  });
  const ticks = [0, 0.5, 1].map((share) => s("text", { x: LEFT - 7, y: atY(share) + 4, "text-anchor": "end" }, number(Math.round(share * tallest))));
  return frame(words.title, words.across, words.up, ...ticks, ...bars);
}

/** Score -> probability, a line a band, with a dot where assigning begins. */
export function curvePicture(curves, words) {
  const lines = curves.map(({ band, scores, probabilities, threshold }) => {
    const points = scores.map((score, place) => [Math.min(1, Math.max(0, score)), probabilities[place]]);
    const all = [[0, points[0][1]], ...points, [1, points.at(-1)[1]]];
    const path = all.map(([x, y], place) => `${place ? "L" : "M"}${atX(x).toFixed(1)} ${atY(y).toFixed(1)}`).join("");
    const after = all.findIndex(([, y]) => y >= threshold);
    return s("g", { class: `stroke ${band}` }, s("path", { d: path }),
      after < 0 ? "" : s("circle", { cx: atX(crossing(all, after, threshold)), cy: atY(threshold), r: 5 }, s("title", {}, `${words[band]}: ${percent(threshold)}`)));
  });
  return frame(words.title, words.across, words.up, ...shareGrid((tick) => number(tick, 2)), ...lines);
}

function crossing(points, after, threshold) {
  if (after === 0) return points[0][0];
  const [[x0, y0], [x1, y1]] = [points[after - 1], points[after]];
  return x0 + ((threshold - y0) / (y1 - y0)) * (x1 - x0);
}

/** What was said against what is right; a dot a bin, larger for more answers. */
export function reliabilityPicture(bins, words) {
  const most = Math.max(1, ...bins.map((bin) => bin.n_answers));
  const line = s("line", { class: "diagonal", x1: atX(0), y1: atY(0), x2: atX(1), y2: atY(1) });
  const dots = bins.map(({ said, right, n_answers: n }) =>
    s("circle", { class: "fill head", cx: atX(said), cy: atY(right), r: 3 + 7 * Math.sqrt(n / most) },
      s("title", {}, `${words.across} ${percent(said)}, ${words.up} ${percent(right)}: ${number(n)}`)));
  return frame(words.title, words.across, words.up, ...shareGrid(percent), line, ...dots);
}
