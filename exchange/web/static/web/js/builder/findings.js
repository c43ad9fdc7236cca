// What the server found about a row, below it: problems, contradictions, strange values, and what
// is left out for want of a value, each with what can be done about it.
import { button, h, rich, sentence } from "./elements.js";

const FIXED = new Set(["alias", "unseen"]);

function valueButtons(values, swap) {
  return h(
    "ul",
    { class: "strange" },
    values.map(({ value, replacement }) =>
      h(
        "li",
        {},
        h("code", {}, String(value)),
        replacement !== null &&
          button(`use ${replacement}`, () => swap(new Map([[value, replacement]]))),
        button("remove", () => swap(new Map([[value, null]])), { "aria-label": `remove ${value}` }),
      ),
    ),
  );
}

// `row` says what can be done: swap(pairs), include(), canInclude, isOpen, toggle().
export function drawFinding(finding, row) {
  const { kind, values = [] } = finding;
  const fixes = values.filter(({ replacement }) => replacement !== null);
  const hasValues = FIXED.has(kind) && values.length > 0;
  const shown = kind === "missing" ? { message: finding.message } : finding;
  const fixAll = () =>
    row.swap(new Map(fixes.map(({ value, replacement }) => [value, replacement])));
  return h(
    "div",
    { class: `finding is-${kind}` },
    h("span", {}, rich(sentence(shown))),
    kind === "missing" && row.canInclude && button("Include them", row.include),
    hasValues &&
      button(row.isOpen ? "Hide" : "Show", row.toggle, { "aria-expanded": String(row.isOpen) }),
    hasValues && fixes.length > 0 && button(`Correct ${fixes.length}`, fixAll),
    hasValues && row.isOpen && valueButtons(values, row.swap),
  );
}
