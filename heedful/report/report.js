// Draws one text at a time from the data in this page. Words enter the page as text, never as markup.
import { find, make } from "heedful/dom.js";
import { cut, quoted } from "heedful/format.js";
import { fullWeight, heatMap, heaviest } from "heedful/heat_map.js";

const source = find("examples");
if (source) drawTexts(JSON.parse(source.textContent));

// A link to a part opens it.
function openPart({ hash }) {
  const part = find(hash.slice(1)), fold = part && (part.querySelector(":scope > .fold") ?? part.closest(".fold"));
  if (fold) fold.open = true;
}
document.querySelectorAll("nav a").forEach((link) => link.addEventListener("click", () => openPart(link)));
addEventListener("hashchange", () => openPart(location));
openPart(location);

function drawTexts(data) {
  const number = find("number"), search = find("search"), outcomes = find("outcomes"), predictions = find("predictions"), status = find("status"), shown = find("shown");
  const boxes = [...document.querySelectorAll("input[name=map]")];
  let current = data.examples[0];

  function matches(example) {
    const runs = example.runs.filter(Boolean), wanted = search.value.trim().toLowerCase();
    if (predictions.value === "right" && !runs.every((run) => run.right)) return false;
    if (predictions.value === "wrong" && !runs.some((run) => run.right === false)) return false;
    if (outcomes.value !== "all" && !runs.some((run) => run.outcome && run.outcome.name === outcomes.value)) return false;
    return !wanted || example.text.toLowerCase().includes(wanted) || example.items.join(" ").toLowerCase().includes(wanted);
  }

  const chosen = () => data.examples.filter(matches);

  const written = (weight) => (weight === null ? "undefined" : weight.toPrecision(2));

  // What is marked in a text: sets of places by kind.
  function marksOf({ flip, rationale, outcome }, isAttention) {
    const isLoose = outcome && outcome.name === "no_small_set";
    const places = { flip, key: outcome && outcome.key, loose: isLoose && outcome.key, top: isAttention && outcome && outcome.top, rationale };
    return Object.fromEntries(Object.entries(places).map(([kind, own]) => [kind, new Set(own || [])]));
  }

  function predicted(run, key) {
    const value = key === "adversarial_attention" ? run.adversary : run.probability;
    return value === null ? "" : "predicted " + run.predicted + " " + value.toFixed(2);
  }

  // What was done to the text before attention was read again.
  function done(items, run, key) {
    if (key === "noisy_attention" && run.noisy) return "noise on " + run.noisy.map((at) => quoted(items[at])).join(", ");
    if (key !== "replaced_attention" || !run.replaced) return "";
    return Object.entries(run.replaced).map(([at, word]) => quoted(items[at]) + " became " + quoted(word)).join(", ");
  }

  function mapRow(kind, items, run) {
    const head = make("th", { scope: "row" }, kind.name), map = run.maps[kind.key];
    if (!map) return make("tr", {}, head, make("td", { className: "soft", textContent: "not known for this text" }));
    if (kind.key === "attention" || kind.key === "adversarial_attention") head.append(make("small", { textContent: predicted(run, kind.key) }));
    const what = done(items, run, kind.key);
    if (what) head.append(make("small", { textContent: what }));
    const read = kind.key === "replaced_attention" && run.replaced ? items.map((item, at) => run.replaced[at] ?? item) : items;
    const weights = map.weights.map((part) => (part === null ? null : part / data.steps * map.max)), cell = heatMap(read, undefined, "td", "");
    head.append(make("small", { textContent: heaviest(read, weights, written) }));
    cell.show(weights, fullWeight(weights), marksOf(run, kind.key === "attention"), written);
    return make("tr", {}, head, cell.element);
  }

  function reading(example, run, name) {
    const items = run.items || example.items;
    const caption = make("caption", {});
    if (data.runs.length > 1) caption.append(make("b", { textContent: name }), ": ");
    caption.append("predicted ", make("b", { textContent: run.predicted }), run.probability === null ? "" : " " + run.probability.toFixed(2));
    if (run.right !== null) caption.append("; label " + example.label + ", so ", make("b", { textContent: run.right ? "right" : "wrong" }));
    if (run.outcome) caption.append(". Outcome: ", make("b", { className: "outcome " + (run.outcome.name || "none"), textContent: run.outcome.badge }));
    const body = make("tbody", {});
    const visible = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    data.maps.filter((kind) => visible.has(kind.key)).forEach((kind) => body.append(mapRow(kind, items, run)));
    const says = make("ul", { className: "says" }, ...(run.outcome ? run.outcome.sentences : []).map((textContent) => make("li", { textContent })));
    return make("div", { className: "reading" }, make("table", { className: "maps" }, caption, body), says);
  }

  // Where the text is in its data file, if that is known.
  function origin(example) {
    const parts = [example.row === null ? "" : "row " + example.row, example.id ? "id " + cut(example.id) : ""];
    const known = parts.filter(Boolean).join(", ");
    return known && " (" + known + ")";
  }

  function draw(note) {
    const list = chosen();
    const at = list.indexOf(current);
    find("previous").disabled = at <= 0;
    find("next").disabled = at < 0 || at >= list.length - 1;
    shown.replaceChildren();
    if (at < 0) {
      status.textContent = "No text matches.";
      return;
    }
    number.value = current.index;
    const total = data.examples.length, kept = data.known > total ? " (of " + data.known + " that the audit kept, evenly chosen)" : "";
    const among = list.length === total ? total + " texts" + kept : list.length + " matching texts";
    status.textContent = (note ? note + " " : "") + "Text " + current.index + origin(current) + ": " + (at + 1) + " of " + among + ".";
    if (current.query) shown.append(make("p", { className: "query", textContent: "Question or hypothesis: " + current.query }));
    current.runs.forEach((run, at) => run && shown.append(reading(current, run, data.runs[at])));
  }

  function narrow() {
    const list = chosen();
    if (!list.includes(current)) current = list.find((example) => example.index >= current.index) || list[list.length - 1] || current;
    draw();
  }

  function step(by) {
    const list = chosen();
    current = list[Math.min(Math.max(list.indexOf(current) + by, 0), list.length - 1)];
    draw();
  }

  function jump() {
    const list = chosen(), wanted = Number(number.value);
    if (!list.length || number.value === "") return draw();
    current = list.reduce((best, one) => (Math.abs(one.index - wanted) < Math.abs(best.index - wanted) ? one : best));
    draw(current.index === wanted ? "" : "Text " + wanted + " is not among those shown; this is the nearest.");
  }

  find("previous").addEventListener("click", () => step(-1));
  find("next").addEventListener("click", () => step(1));
  number.addEventListener("change", jump);
  search.addEventListener("input", narrow);
  outcomes.addEventListener("change", narrow);
  predictions.addEventListener("change", narrow);
  boxes.forEach((box) => box.addEventListener("change", () => draw()));
  find("chooser").addEventListener("submit", (event) => event.preventDefault());
  find("chooser").hidden = find("legend").hidden = false;
  find("legend-rationale").hidden = !data.examples.some((example) => example.runs.some((run) => run && run.rationale));
  draw();
}
