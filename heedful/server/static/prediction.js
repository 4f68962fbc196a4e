// The prediction, how far it moved, and the most that any attention can move it: the last two on one axis.
import { argmax, totalVariation } from "heedful/core.js";
import { badge, make } from "heedful/dom.js";
import { percent, scaleEnd, share } from "heedful/format.js";
import { ranked } from "heedful/heat_map.js";

const TOP_CLASSES = 5;

/** The classes to show: the top five, always with the model's own answer and the present one among them. */
export function topClasses(own, now) {
  const order = ranked(now).slice(0, TOP_CLASSES), answer = argmax(own);
  if (!order.includes(answer)) order[order.length - 1] = answer;
  return order;
}

/** "The weights have moved the prediction by .01; the most that any attention can move it is .23." */
export function movedSentence(moved, widest, item) {
  const attention = item === "sentence" ? "attention over its sentences" : "attention";
  const most = widest === null ? "" : "the most that any " + attention + " can move it is " + (widest.solver === "exact" ? "" : "at least ") + share(widest.tvd) + ".";
  if (moved < 5e-7) return "The weights have not moved the prediction" + (most ? "; " + most : ".");
  return "The weights have " + (moved < 1e-4 ? "hardly moved the prediction" : "moved the prediction by " + share(moved)) + (most ? "; " + most : ".");
}

function classBar(label, probability, own, isAnswer) {
  const bar = make("span", { className: "class-bar", aria: { hidden: true } }, make("span", { className: "fill" }), make("span", { className: "own" }));
  bar.firstChild.style.setProperty("--at", probability);
  bar.lastChild.style.setProperty("--at", own);
  bar.title = "the mark is the prediction with the model's own attention: " + percent(own);
  const name = make("span", { className: "class-name", textContent: label, dir: "auto" });
  return make("li", { className: isAnswer ? "answer-class" : "" }, name, bar, make("span", { className: "class-value", textContent: percent(probability) }));
}

/** Both movements on one axis from 0 to a round number. */
function movementAxis(moved, widest) {
  const end = scaleEnd(Math.max(moved, widest?.tvd ?? 0, 0.01));
  const place = (value) => ({ "--at": Math.min(value / end, 1) });
  const track = make("div", { className: "axis-track" });
  if (widest !== null) track.append(make("span", { className: "reach", style: place(widest.tvd) }));
  track.append(make("span", { className: "fill", style: place(moved) }));
  const marks = [make("span", { className: "axis-mark moved", style: place(moved) }, make("b", { textContent: share(moved) }), " moved")];
  if (widest !== null) marks.push(make("span", { className: "axis-mark most", style: place(widest.tvd) }, make("b", { textContent: share(widest.tvd) }), " most"));
  marks.forEach((mark) => mark.classList.toggle("from-right", parseFloat(mark.style.getPropertyValue("--at")) > 0.6));
  const ends = make("div", { className: "axis-ends" }, make("span", { textContent: "0" }), make("span", { textContent: share(end) }));
  return make("div", { className: "axis", aria: { hidden: true } }, marks[0], track, marks[1], ends);
}

function numbersTable(labels, own, now) {
  const head = make("tr", {}, ...["Answer", "Logit", "Probability", "with own attention"].map((name) => make("th", { scope: "col", textContent: name })));
  const rows = labels.map((label, at) =>
    make(
      "tr",
      { dataset: { class: at } },
      make("th", { scope: "row", textContent: label }),
      make("td", { className: "logit", textContent: now.logits[at].toFixed(7) }),
      make("td", { className: "probability", textContent: now.probabilities[at].toFixed(7) }),
      make("td", { textContent: own.probabilities[at].toFixed(7) }),
    ),
  );
  return make("table", { className: "small" }, make("caption", { className: "unseen", textContent: "Logits and probabilities" }), make("thead", {}, head), make("tbody", {}, ...rows));
}

export class Prediction {
  #numbersOpen = false;
  #announce;

  /** `root` is filled; `live` is a live region that announces the prediction once it rests; `brief` is a line. */
  constructor(root, live, brief) {
    this.root = root;
    this.live = live;
    this.brief = brief;
  }

  /** `own` and `now` have logits and probabilities; `own.widest` may be null. */
  show({ labels, item }, own, now) {
    const { widest } = own;
    const moved = totalVariation(own.probabilities, now.probabilities), answer = argmax(now.probabilities);
    const isFlipped = answer !== argmax(own.probabilities), classes = topClasses(own.probabilities, now.probabilities);
    const says = make("p", { className: "says" }, make("span", { className: "soft", textContent: "The model predicts" }), " ");
    says.append(make("b", { className: "answer-name", textContent: labels[answer], dir: "auto" }), " ", make("span", { className: "answer-value", textContent: percent(now.probabilities[answer]) }));
    if (isFlipped) says.append(" ", make("span", { className: "flipped", textContent: "the prediction has flipped: with the model's own attention it is " + labels[argmax(own.probabilities)] }));
    const bars = make("ul", { className: "classes" }, ...classes.map((at) => classBar(labels[at], now.probabilities[at], own.probabilities[at], at === answer)));
    const rest = labels.length - classes.length;
    const more = rest > 0 ? make("p", { className: "soft fine", textContent: "and " + rest + " more classes, in the numbers below" }) : null;
    const sentence = make("p", { className: "movement", textContent: movedSentence(moved, widest, item) + " " }, widest === null ? null : badge(widest.solver));
    const numbers = make("details", { className: "numbers-table", open: this.#numbersOpen }, make("summary", { textContent: "Numbers" }), make("div", { className: "scroll", tabIndex: 0, role: "region", aria: { label: "Numbers" } }, numbersTable(labels, own, now)));
    numbers.addEventListener("toggle", () => (this.#numbersOpen = numbers.open));
    this.#replace([says, bars, more, sentence, movementAxis(moved, widest), numbers].filter(Boolean));
    this.brief.textContent = labels[answer] + " " + percent(now.probabilities[answer]) + " · moved " + share(moved) + (widest === null ? "" : " of " + share(widest.tvd));
    clearTimeout(this.#announce);
    this.#announce = setTimeout(() => (this.live.textContent = labels[answer] + ", " + percent(now.probabilities[answer]) + ". " + movedSentence(moved, widest, item)), 350);
  }

  // The numbers keep the focus if they have it.
  #replace(children) {
    const hadFocus = document.activeElement?.closest(".numbers-table summary") !== null && this.root.contains(document.activeElement);
    this.root.replaceChildren(...children);
    if (hadFocus) this.root.querySelector(".numbers-table summary").focus();
  }
}
