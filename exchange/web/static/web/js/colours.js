// Colours an expression or a visit for reading. It never judges: only the server says what is wrong.

const WORDS =
  "and|or|not|xor|xnor|true|false|in|is|of|one|all|none|only|missing|present|empty|between|starts|ends|with|contains|like|under|within|inside|polygon|network|during|count|km|m|mi";

const EXPRESSION = new RegExp(
  [
    String.raw`(?<comment>#[^\n]*)`,
    String.raw`(?<text>'(?:\\.|[^'\\\n])*'?|"(?:\\.|[^"\\\n])*"?)`,
    String.raw`(?<number>-?\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\b)`,
    String.raw`(?<word>\b(?:${WORDS})\b(?!\.))`,
    String.raw`(?<name>[@$]?[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*)`,
  ].join("|"),
  "gi",
);

const VISIT = new RegExp(
  [
    String.raw`(?<name>"(?:\\.|[^"\\\n])*"(?=\s*:))`,
    String.raw`(?<text>"(?:\\.|[^"\\\n])*"?)`,
    String.raw`(?<number>-?\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\b)`,
    String.raw`(?<word>\b(?:true|false|null)\b)`,
  ].join("|"),
  "g",
);

// Yields {kind, start, end} for what has a colour; the gaps between have none.
function* tokens(text, grammar) {
  for (const found of text.matchAll(grammar)) {
    const [kind] = Object.entries(found.groups).find(([, value]) => value !== undefined);
    yield { kind, start: found.index, end: found.index + found[0].length };
  }
}

function piece(text, kind, isMarked) {
  let node = document.createTextNode(text);
  if (kind) {
    const span = document.createElement("span");
    span.className = `t-${kind}`;
    span.append(node);
    node = span;
  }
  if (!isMarked) return node;
  const mark = document.createElement("mark");
  mark.append(node);
  return mark;
}

function paint(text, grammar, marks) {
  const fragment = document.createDocumentFragment();
  const cuts = new Set([0, text.length]);
  const kinds = [...tokens(text, grammar)];
  for (const { start, end } of [...kinds, ...marks]) cuts.add(start).add(end);
  const places = [...cuts].filter((place) => place <= text.length).sort((a, b) => a - b);
  let token = 0;
  for (let index = 0; index + 1 < places.length; index += 1) {
    const [start, end] = [places[index], places[index + 1]];
    while (token < kinds.length && kinds[token].end <= start) token += 1;
    const isInside = token < kinds.length && kinds[token].start <= start;
    const isMarked = marks.some((mark) => mark.start <= start && end <= mark.end);
    fragment.append(piece(text.slice(start, end), isInside ? kinds[token].kind : "", isMarked));
  }
  return fragment;
}

export function colour(text, marks = []) {
  return paint(text, EXPRESSION, marks);
}

export function colourVisit(text, marks = []) {
  return paint(text, VISIT, marks);
}
