// Numbers and words as a reader sees them.

/** A share with two decimals and no leading zero, as in a table: .32, 1, 0; a small one with its first digit: .002. */
export function share(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const sign = value < 0 ? "−" : "", size = Math.abs(value);
  if (size < 0.0001) return size === 0 ? "0" : "~0";
  if (size < 0.005) return sign + size.toPrecision(1).slice(1);
  const written = size.toFixed(2);
  return sign + (size < 0.995 ? written.slice(1) : written.replace(".00", ""));
}

export const percent = (value) => (value > 0.9995 && value < 1 ? ">99.9" : value > 0 && value < 0.0005 ? "<0.1" : (100 * value).toFixed(1)) + "\u00a0%";

export const cut = (word, most = 30) => (word.length > most ? word.slice(0, most - 1) + "…" : word);

export const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

export const quoted = (word) => "“" + cut(word) + "”";

export const counted = (count, noun) => count + " " + noun + (count === 1 ? "" : "s");

const ENDS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.75, 1];

/** The end of a scale that holds the largest value: a round number. */
export const scaleEnd = (largest) => ENDS.find((end) => largest <= end + 1e-9) ?? 1;

const SENTENCE_END = /[.!?…。！？]["'”’)\]]*$/;

/** Runs of items that are sentences: cut behind . ! ? and at line ends of the text, at most `most` items each. */
export function sentences(items, words, text, most = 60) {
  const runs = [];
  let current = [];
  items.forEach((item, at) => {
    current.push(at);
    const last = words[item.words[item.words.length - 1]], next = items[at + 1] && words[items[at + 1].words[0]];
    const isLineEnd = last && next && /\n/.test(text.slice(last.end, next.start));
    const isSentenceEnd = last && SENTENCE_END.test(last.text) && !(next && SENTENCE_END.test(next.text) && next.text.length === 1);
    if (isSentenceEnd || isLineEnd || current.length >= most) {
      runs.push(current);
      current = [];
    }
  });
  if (current.length) runs.push(current);
  return runs;
}

/** Which words of two texts differ: pairs of places of the longest common run of words in order. */
export function alignment(left, right) {
  const rows = left.length, columns = right.length;
  if (rows * columns > 4e6) return left.map((word, at) => [at, at]).filter(([at]) => left[at] === right[at]);
  const length = Array.from({ length: rows + 1 }, () => new Uint16Array(columns + 1));
  for (let row = rows - 1; row >= 0; row--)
    for (let column = columns - 1; column >= 0; column--)
      length[row][column] =
        left[row] === right[column] ? length[row + 1][column + 1] + 1 : Math.max(length[row + 1][column], length[row][column + 1]);
  const pairs = [];
  for (let row = 0, column = 0; row < rows && column < columns; )
    if (left[row] === right[column]) pairs.push([row++, column++]);
    else if (length[row + 1][column] >= length[row][column + 1]) row++;
    else column++;
  return pairs;
}
