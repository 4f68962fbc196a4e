// The saved page: one text of a linear model, its bars and what follows from them. It needs no server.
import { mixture, renormalize, softmax } from "heedful/core.js";
import { find, make } from "heedful/dom.js";
import { linked, markedItems, rankingsTable } from "heedful/maps.js";
import { outcomeMarks, showOutcome } from "heedful/outcome.js";
import { Prediction } from "heedful/prediction.js";
import { History, initial } from "heedful/state.js";
import { wireTheme } from "heedful/theme.js";
import { scaleNote, Words } from "heedful/words.js";

const saved = JSON.parse(find("payload").textContent);
const { reading } = saved;
const past = new History({ ...initial, attention: saved.attention }, () => drawSaved());
const prediction = new Prediction(find("prediction"), find("live"), find("brief"));
const words = new Words(find("items"), {
  onWeight: (items, weight, gesture) =>
    past.change({ attention: renormalize(past.state.attention ?? reading.attention, items, weight, new Set(past.state.pinned)) }, gesture),
  onSettle: () => (past.settle(), drawSaved()),
  onPin: (items) => pin(items),
  onSelect: () => {},
});

function pin(items) {
  const pinned = new Set(past.state.pinned), isPinned = items.every((item) => pinned.has(item));
  items.forEach((item) => (isPinned ? pinned.delete(item) : pinned.add(item)));
  past.change({ pinned: [...pinned] });
}

function predicted() {
  if (past.state.attention === null) return reading;
  const logits = mixture(past.state.attention, reading.item_logits, reading.empty_logits);
  return { logits, probabilities: softmax(logits) };
}

function drawSaved() {
  const attention = past.state.attention ?? reading.attention;
  words.update({ attention, own: reading.attention, pinned: new Set(past.state.pinned), marks: { rationale: markedItems(reading), ...outcomeMarks(reading) }, wordAttention: reading.word_attention });
  find("scale").textContent = scaleNote(words.isRows ? words.rowEnd : words.end);
  prediction.show(saved.model, reading, predicted());
  find("undo").disabled = !past.canUndo;
  find("redo").disabled = !past.canRedo;
  find("reset").disabled = past.state.attention === null && !past.state.pinned.length;
}

wireTheme();
const about = Object.entries({ Model: saved.model.name, ...saved.model.about });
find("about").append(...about.map(([name, value]) => make("div", {}, make("dt", { textContent: name }), make("dd", { textContent: value }))));
find("query").textContent = reading.query && "Question or hypothesis: " + reading.query;
find("query").hidden = !reading.query;
find("notes").append(...reading.notes.map((note) => make("li", { textContent: note })));
showOutcome(find("outcome"), reading.outcome);
find("rankings").append(rankingsTable(reading));
linked(find("beside"));
words.build(reading, saved.model.is_hierarchical);
find("undo").addEventListener("click", () => past.undo());
find("redo").addEventListener("click", () => past.redo());
find("reset").addEventListener("click", () => past.change({ attention: null, pinned: [] }));
drawSaved();
words.openHeaviest(reading.attention);
new IntersectionObserver(([aside]) => (find("brief").hidden = aside.isIntersecting)).observe(find("prediction"));
