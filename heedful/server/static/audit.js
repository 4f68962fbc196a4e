// From the audit: the model's verdict as a strip, and the text's place among the audited ones.
import { find, make } from "./dom.js";
import { capital, counted } from "./format.js";

const SIGNS = { holds: "✓", fails: "✗", undecided: "?", "not counted": "–" };

function line(each, report) {
  const name = make(report ? "a" : "span", { textContent: each.name.replaceAll("_", " ") });
  if (report) name.href = report + "#verdict";
  return make(
    "li",
    { className: "line " + each.outcome.replace(" ", "-"), title: each.question + " " + each.sentence },
    make("span", { className: "sign", textContent: SIGNS[each.outcome] ?? "–", aria: { hidden: true } }),
    make("span", {}, name, " ", make("span", { className: "soft", textContent: each.outcome })),
  );
}

/** The strip: the answer, what to do, and each question with a link into the report. */
export function showVerdict(model) {
  const root = find("verdict"), { verdict } = model, report = model.report ? "/report/" + encodeURIComponent(model.id) : null;
  const facts = make("dl", { className: "facts small" }, ...Object.entries(model.about).map(([name, value]) => make("div", {}, make("dt", { textContent: name }), make("dd", { textContent: value }))));
  if (!verdict) {
    root.replaceChildren(make("p", { className: "soft", textContent: "No audit of this model is at hand: heedful audit makes one." }), facts);
    return;
  }
  const link = report ? make("a", { href: report, textContent: "The whole report" }) : null;
  const lines = make("details", {}, make("summary", { textContent: counted(verdict.lines.length, "question") + " of the audit" }), ...verdict.sentences.slice(1).map((sentence) => make("p", { textContent: sentence })), make("ul", { className: "lines" }, ...verdict.lines.map((each) => line(each, report))));
  root.replaceChildren(
    make("div", { className: "answer " + verdict.action }, make("p", { className: "lead", textContent: verdict.lead }), ...verdict.sentences.slice(0, 1).map((sentence) => make("p", { textContent: sentence })), make("div", { className: "more" }, lines, link)),
    facts,
  );
}

function place(each) {
  const axis = make("span", { className: "place-axis", aria: { hidden: true } }, make("span", { className: "place-mark", style: { "--at": Math.min(Math.max(each.percentile / 100, 0), 1) } }));
  return make("li", {}, make("b", { textContent: capital(each.title) }), axis, make("span", { className: "axis-words", aria: { hidden: true } }, make("span", { textContent: "least of " + each.texts + " texts" }), make("span", { textContent: "most" })), make("p", { textContent: each.sentence }));
}

export function showPlaces(places) {
  find("places-part").hidden = places.length === 0;
  find("places").replaceChildren(...places.map(place));
}
