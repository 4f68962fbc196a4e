// The answer of the model's audit as a strip, with the badge of the report.
import { find, make } from "heedful/dom.js";
import { counted } from "heedful/format.js";

function line(each, report) {
  const name = make("a", { href: report + "#verdict", textContent: each.name.replaceAll("_", " ") });
  return make("li", { className: "line", title: each.question }, name, make("span", { className: "soft", textContent: " " + each.sentence }));
}

/** The strip: the answer with its numbers, what to do, and each test that explains it. */
export function showAudit(model) {
  const root = find("audit"), { guidance, lines } = model;
  const facts = make("dl", { className: "facts small" }, ...Object.entries(model.about).map(([name, value]) => make("div", {}, make("dt", { textContent: name }), make("dd", { textContent: value }))));
  if (!guidance) {
    root.replaceChildren(make("p", { className: "soft", textContent: "This model has no audit. Make one with heedful audit." }), facts);
    return;
  }
  const report = "/report/" + encodeURIComponent(model.id), { overall, sentence, classes } = guidance;
  const byClass = Object.entries(classes).map(([label, own]) => label + ": " + own.answer + ". " + own.sentence);
  const tests = make("details", {}, make("summary", { textContent: counted(lines.length, "test") + " that explain the answer" }), make("ul", { className: "lines" }, ...lines.map((each) => line(each, report))));
  root.replaceChildren(
    make(
      "div",
      { className: "answer" },
      overall ? make("p", { className: "soft question", textContent: root.dataset.question }) : null,
      make("p", { className: "lead" }, make("strong", { className: overall ? "outcome " + model.answer_kind : "", textContent: guidance.headline })),
      ...(sentence ? [sentence] : byClass).map((textContent) => make("p", { textContent })),
      make("p", { className: "do", textContent: guidance.recommendation }),
      make("div", { className: "more" }, lines.length ? tests : null, make("a", { href: report, textContent: "The whole report" })),
    ),
    facts,
  );
}
