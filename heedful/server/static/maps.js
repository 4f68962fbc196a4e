// Rows of words with a small bar under each: rankings, models and texts, one below the other.
import { argmax } from "heedful/core.js";
import { make } from "heedful/dom.js";
import { capital, percent, share } from "heedful/format.js";
import { fullWeight, heatMap, heaviest, ranked } from "heedful/heat_map.js";
import { outcomeMarks } from "heedful/outcome.js";
import { MOST_FADERS } from "heedful/words.js";

const TOP = 12;

export const answered = (labels, probabilities) => labels[argmax(probabilities)] + " " + percent(probabilities[argmax(probabilities)]);

/** A row: a name, its prediction, and the words with their weights as bars. Of a long text, the top words alone. */
export function mapRow(title, note, labels, weights, marks = {}, links = null) {
  const places = labels.length > MOST_FADERS ? ranked(weights.map((weight) => Math.abs(weight ?? 0))).slice(0, TOP) : labels.map((_, at) => at);
  const text = heatMap(places.map((at) => labels[at]), places);
  text.show(places.map((at) => weights[at]), fullWeight(weights), marks, share);
  const tokens = text.element.querySelectorAll(".token");
  places.forEach((at, place) => (tokens[place].dataset.link = links ? links[at] ?? "" : at));
  const more = places.length < labels.length ? "the top " + TOP + " of " + labels.length : "";
  const lines = [note, more || heaviest(labels, weights, share, 18)].filter(Boolean);
  const head = make("th", { scope: "row" }, title, ...lines.map((line) => make("small", { textContent: line })));
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

/** The rankings of a text as a table, with its human rationale. */
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

/** The items of the human rationale; empty if there is none. */
export function markedItems(reading) {
  const rationale = reading.rankings.find((ranking) => ranking.name === "rationale");
  return new Set((rationale?.weights ?? []).flatMap((weight, at) => (weight ? [at] : [])));
}
