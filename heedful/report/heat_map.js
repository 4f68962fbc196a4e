// A text as a heat map, in reports and on the live page: its words, each as strong as its weight.
import { make } from "heedful/dom.js";
import { cut, quoted } from "heedful/format.js";

/** Places from the largest weight to the smallest; of equal ones the first. */
export const ranked = (weights) => weights.map((_, at) => at).sort((a, b) => weights[b] - weights[a] || a - b);

const sizesOf = (weights) => weights.map((weight) => Math.abs(weight ?? 0));

/** The weight of full color: the largest, but three times the mean at least, so that uniform weights stay pale. */
export function fullWeight(weights) {
  const sizes = sizesOf(weights);
  return Math.max(...sizes, (3 * sizes.reduce((a, b) => a + b, 0)) / sizes.length, 1e-12);
}

/** The words with the largest weights, as text. */
export function heaviest(words, weights, written, most) {
  const sizes = sizesOf(weights), order = ranked(sizes).slice(0, 3).filter((at) => sizes[at] > 0);
  return order.length ? "most: " + order.map((at) => quoted(cut(words[at], most)) + " " + written(weights[at])).join(", ") : "all 0";
}

/** The words as an element. `show` gives them weights, and marks: sets of places by kind. */
export function heatMap(words, places = words.map((_, at) => at), tag = "p", className = "running") {
  const tokens = words.map((word, at) => make("span", { textContent: word, dataset: { item: places[at] } }));
  const element = make(tag, { className, dir: "auto" });
  tokens.forEach((token) => element.append(token, " "));
  const show = (weights, full, marks, written) =>
    tokens.forEach((token, at) => {
      const weight = weights[at] ?? null, kinds = Object.keys(marks).filter((kind) => marks[kind]?.has(places[at]));
      token.style.setProperty("--weight", Math.min(Math.abs(weight ?? 0) / full, 1));
      token.className = ["token", ...(weight < 0 ? ["against"] : []), ...kinds].join(" ");
      token.title = words[at] + ": " + written(weight);
    });
  return { element, show };
}
