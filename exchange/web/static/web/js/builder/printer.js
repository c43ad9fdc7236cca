// The text of a document, as the server prints it, with line breaks where a line would be long. The
// form's field always holds what the builder shows, whether the server answers or not; a test holds
// this printer against the server's.
import { takesList } from "./operators.js";
import { walkPaths } from "./model.js";

const WIDTH = 96;
const INDENT = "    ";
const CONNECTIVES = ["and", "or", "xor", "xnor"];
const ESCAPES = { "\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t" };

export function printTree(doc, width = WIDTH) {
  return doc ? printLines(doc, width, true).join("\n") : "";
}

export function printLine(doc, isRoot = true) {
  const word = CONNECTIVES.find((each) => doc[each]);
  if (word) {
    const joined = doc[word].map((child) => printLine(child, false)).join(` ${word} `);
    return isRoot ? joined : `(${joined})`;
  }
  return doc.not ? `not ${printLine(doc.not, false)}` : printLeaf(doc);
}

function printLines(doc, width, isRoot) {
  const notes = (doc.notes ?? []).map(({ text, disabled }) =>
    `#${disabled ? "-" : ""} ${text}`.trimEnd(),
  );
  const word = CONNECTIVES.find((each) => doc[each]);
  const below = word ? doc[word] : doc.not ? [doc.not] : [];
  const line = printLine(doc, isRoot && !notes.length);
  const isShort = line.length <= width || !below.length;
  if (isShort && !below.some(hasNotes)) return [...notes, line];
  if (doc.not) return [...notes, ...prefix("not ", printLines(doc.not, width, false))];
  const lines = joinLines(doc[word], word, width);
  return isRoot && !notes.length
    ? lines
    : [...notes, "(", ...lines.map((each) => INDENT + each), ")"];
}

function hasNotes(doc) {
  for (const [, each] of walkPaths(doc)) if (each.notes?.length) return true;
  return false;
}

function joinLines([first, ...others], word, width) {
  const lines = printLines(first, width, false);
  for (const doc of others) lines.push(...prefix(`${word} `, printLines(doc, width, false)));
  return lines;
}

// Puts a word before the first line that is no note.
function prefix(word, lines) {
  const first = lines.findIndex((line) => !line.startsWith("#"));
  return lines.map((line, i) => (i === first ? word + line : line));
}

function printLeaf(doc) {
  if ("constant" in doc) return String(doc.constant);
  return doc.reference ? `@${doc.reference}` : printPredicate(doc);
}

function printPredicate(doc) {
  const { attribute, operator, negated, count } = doc;
  const subject = count ? `count(${attribute})` : attribute;
  if (operator === "is true") return subject;
  const turned = operator.startsWith("is ")
    ? operator.replace("is ", "is not ")
    : `not ${operator}`;
  return [subject, negated ? turned : operator, printOperands(doc)].filter(Boolean).join(" ");
}

function printOperands({ operator, list, values = [] }) {
  if (list) return `$${list}`;
  if (operator === "inside polygon") {
    return `(${values.map(([lat, lon]) => `(${lat}, ${lon})`).join(", ")})`;
  }
  const printed = values.map(printValue);
  if (takesList(operator)) return `(${printed.join(", ")})`;
  if (operator === "between") return printed.join(" and ");
  if (operator === "within") return `${printed[2]} km of (${printed[0]}, ${printed[1]})`;
  return printed.join(" ");
}

export function printValue(value) {
  if (typeof value !== "string") return String(value);
  const escaped = value.replace(/[\\'\u0000-\u001f\u007f-\u009f]/g, (each) => {
    return ESCAPES[each] ?? `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
  return `'${escaped}'`;
}

const BETWEEN = /(?:\s|[()]|(?:and|or|xor|xnor|not)(?![\w.]))*/y;

// Where the conditions of a printed document stand, by their paths: a problem's place leads to its
// row.
export function leafSpans(doc, text) {
  const code = text.replace(/^\s*#.*$/gm, (line) => " ".repeat(line.length));
  const spans = new Map();
  let place = 0;
  for (const [path, each] of walkPaths(doc)) {
    if (each.not || CONNECTIVES.some((word) => each[word])) continue;
    BETWEEN.lastIndex = place;
    const start = place + BETWEEN.exec(code)[0].length;
    place = start + printLeaf(each).length;
    spans.set(path, { start, end: place });
  }
  return spans;
}
