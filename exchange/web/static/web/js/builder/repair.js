// What people paste from a sheet or a mail, made into what they meant: lines of values become a
// list where a list can stand, curly quotes become straight ones.
import { contextAt } from "./context.js";
import { takesList } from "./operators.js";
import { printValue } from "./printer.js";
import { splitPasted } from "./widgets/chips.js";
import { readValue } from "./widgets/values.js";

const CURLY = /[\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f]/g;
const BLANKS = /[\u00a0\u2007\u202f]/g;

function straighten(text) {
  const blank = text.replace(BLANKS, " ");
  return /['"]/.test(blank) ? blank : blank.replace(CURLY, "'");
}

// Two values or more, and no sign of an expression among them.
function readList(text, attributes) {
  const items = [...new Set(splitPasted(text))];
  const isExpression =
    /[=<>@$#()]/.test(text) || text.split(/\s+/).some((word) => attributes.has(word));
  return items.length > 1 && !isExpression ? items : null;
}

function printItems(items, type) {
  const isNumber = type === "integer" || type === "float";
  const values = items.map((item) => (isNumber ? readValue(item, type) : item));
  return values.includes(null) ? null : values.map(printValue).join(", ");
}

function asList(items, { attribute, operator, isInList, expects }, attributes) {
  const { type } = attributes.get(attribute);
  const printed = printItems(items, type.replace(" set", ""));
  if (printed === null) return null;
  if (isInList) return printed;
  const word = type.endsWith("set") ? "one of" : "in";
  if (expects === "operator" && !operator) return ` ${word} (${printed})`;
  return takesList(operator.replace(/^not /, "")) ? ` (${printed})` : null;
}

// {text, said}, or null where the paste is fine as it is. `ask` tells which attribute has values.
export async function repair(pasted, text, place, attributes, ask) {
  const straight = straighten(pasted);
  const asIs = straight === pasted ? null : { text: straight, said: "Quotes straightened" };
  const items = readList(straight, attributes);
  if (!items) return asIs;
  const said = `${items.length} values pasted as a list`;
  const context = contextAt(text, place, attributes);
  if (context.attribute && context.expects !== "connective") {
    const list = asList(items, context, attributes);
    return list ? { text: /\s$/.test(text.slice(0, place)) ? list.trimStart() : list, said } : asIs;
  }
  if (context.expects !== "condition") return asIs;
  const attribute = await ask(items);
  if (!attributes.has(attribute)) return asIs;
  const list = asList(
    items,
    { ...context, attribute, expects: "operator", operator: "" },
    attributes,
  );
  return list ? { text: attribute + list, said } : asIs;
}
