// The answer of the model's audit as a strip.
import { find, make } from "./dom.js";
import { counted } from "./format.js";

function line(each, report) {
  const name = make(report ? "a" : "span", { textContent: each.name.replaceAll("_", " ") });
  if (report) name.href = report + "#verdict";
  return make("li", { className: "line", title: each.question }, name, make("span", { className: "soft", textContent: " " + each.sentence }));
}

const paragraphs = (sentences) => sentences.map((sentence) => make("p", { textContent: sentence }));

/** The strip: the answer with its numbers, what to do, and each test that explains it. */
export function showAudit(model) {
  const root = find("audit"), { audit } = model, report = model.report ? "/report/" + encodeURIComponent(model.id) : null;
  const facts = make("dl", { className: "facts small" }, ...Object.entries(model.about).map(([name, value]) => make("div", {}, make("dt", { textContent: name }), make("dd", { textContent: value }))));
  if (!audit) {
    root.replaceChildren(make("p", { className: "soft", textContent: "This model has no audit: heedful audit makes one." }), facts);
    return;
  }
  const link = report ? make("a", { href: report, textContent: "The whole report" }) : null;
  const lines = make("details", {}, make("summary", { textContent: counted(audit.lines.length, "test") + " that explain the answer" }), make("ul", { className: "lines" }, ...audit.lines.map((each) => line(each, report))));
  const lead = make("p", { className: "lead", textContent: audit.headline }), advice = make("p", { className: "do", textContent: audit.recommendation });
  root.replaceChildren(
    make("div", { className: "answer " + audit.show.replaceAll(" ", "-") }, lead, ...paragraphs(audit.sentences), advice, make("div", { className: "more" }, audit.lines.length ? lines : null, link)),
    facts,
  );
}
