// Rows of words with a small bar under each: rankings, models and texts, one below the other.
import { argmax, ranked } from "./core.js";
import { make } from "./dom.js";
import { capital, cut, percent, quoted, share } from "./format.js";
import { outcomeMarks } from "./outcome.js";
import { MOST_FADERS, running } from "./words.js";

const TOP = 12;

export const answered = (labels, probabilities) => labels[argmax(probabilities)] + " " + percent(probabilities[argmax(probabilities)]);

/** A row: a name, what it answers, and the words with their weights as bars. Of a long text, the top words alone. */
export function mapRow(title, note, labels, weights, marks = {}, links = null) {
  const places = labels.length > MOST_FADERS ? ranked(weights.map((weight) => Math.abs(weight ?? 0))).slice(0, TOP) : labels.map((_, at) => at);
  const text = running(places.map((at) => labels[at]), places);
  const sizes = weights.map((weight) => Math.abs(weight ?? 0));
  // A full bar is the largest weight, but three times the average at least: weights that are all alike stay low.
  const full = Math.max(...sizes, (3 * sizes.reduce((a, b) => a + b, 0)) / sizes.length, 1e-12);
  text.show(places.map((at) => weights[at]), full, marks);
  const tokens = text.element.querySelectorAll(".token");
  places.forEach((at, place) => (tokens[place].dataset.link = links ? links[at] ?? "" : at));
  const more = places.length < labels.length ? "the top " + TOP + " of " + labels.length : "";
  const heaviest = ranked(sizes).slice(0, 3).filter((at) => sizes[at] > 0);
  const most = heaviest.length ? "most: " + heaviest.map((at) => quoted(cut(labels[at], 18)) + " " + share(weights[at])).join(", ") : "all 0";
  const head = make("th", { scope: "row" }, title, ...[note, more || most].filter(Boolean).map((line) => make("small", { textContent: line })));
  return make("tr", {}, head, make("td", {}, text.element));
}

export function table(caption, rows) {
  return make("table", { className: "maps" }, make("caption", { className: "unseen", textContent: caption }), make("tbody", {}, ...rows));
}

/** Words at the same place light up together when one of them is pointed at. */
export function linked(root) {
  const light = (event) => {
    const link = event.target.closest?.(".token")?.dataset.link;
    root.querySelectorAll(".token.linked").forEach((token) => token.classList.remove("linked"));
    if (link) root.querySelectorAll(`.token[data-link="${CSS.escape(link)}"]`).forEach((token) => token.classList.add("linked"));
  };
  root.addEventListener("pointerover", light);
  root.addEventListener("pointerleave", light);
}

/** The rankings of a text as a table, with what people marked in it. */
export function rankingsTable(reading) {
  const labels = reading.items.map((item) => item.label), marks = { rationale: markedItems(reading), ...outcomeMarks(reading) };
  const rows = reading.rankings.map((ranking) => {
    const notes = [ranking.badge, ranking.is_signed ? "italics and dashes oppose the prediction" : ""];
    const row = mapRow(capital(ranking.title), notes.filter(Boolean).join("; "), labels, ranking.weights, marks);
    row.dataset.ranking = ranking.name;
    return row;
  });
  return table("Rankings of the same text", rows);
}

/** The items that people marked; empty where nobody did. */
export function markedItems(reading) {
  const rationale = reading.rankings.find((ranking) => ranking.name === "rationale");
  return new Set((rationale?.weights ?? []).flatMap((weight, at) => (weight ? [at] : [])));
}
