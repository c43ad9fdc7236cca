// Reading one value that somebody typed, and the field that it is typed into.
import { h } from "../elements.js";

const NUMBER = /^\s*-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i;

export function kindOf(row) {
  if (row.node().count) return "integer";
  return row.about.type === "geo" ? "float" : row.about.type.replace(" set", "");
}

// Null where it is none. Whole numbers of 64 bits do not fit a JavaScript number: they are BigInts.
export function readValue(text, kind) {
  if (kind !== "integer" && kind !== "float") return text;
  if (!NUMBER.test(text)) return null;
  const number = Number(text);
  if (kind === "float" || Number.isSafeInteger(number))
    return Number.isFinite(number) ? number : null;
  return /^\s*-?\d+\s*$/.test(text) ? BigInt(text.trim()) : null;
}

// `take` gets the text and says false where it cannot be.
export function field(row, value, label, take, props = {}) {
  const kind = kindOf(row);
  const isNumber = kind === "integer" || kind === "float";
  return h("input", {
    value: value === null || value === undefined ? "" : String(value),
    "aria-label": label,
    "data-key": "value",
    inputMode: isNumber ? "decimal" : "text",
    class: isNumber ? "narrow" : "wide",
    autocomplete: "off",
    spellcheck: false,
    ...props,
    oninput: ({ target }) =>
      target.setAttribute("aria-invalid", String(take(target.value) === false)),
  });
}
