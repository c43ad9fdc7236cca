// Which operators an attribute's type has, as people call them, and the widget for their values.

const COMPARED = [
  ["is at least", ">="],
  ["is at most", "<="],
  ["is above", ">"],
  ["is below", "<"],
  ["is", "="],
  ["is not", "!="],
];
const RANGED = [
  ["is between", "between"],
  ["is not between", "not between"],
];
const LISTED = [
  ["is one of", "in"],
  ["is not one of", "not in"],
];
const KNOWN = [
  ["is known", "is present"],
  ["is missing", "is missing"],
];
const NUMBER = [...COMPARED, ...RANGED, ...LISTED];
const TEXT = [
  ["starts with", "starts with"],
  ["does not start with", "not starts with"],
  ["ends with", "ends with"],
  ["does not end with", "not ends with"],
  ["contains", "contains"],
  ["does not contain", "not contains"],
  ["matches the pattern", "like"],
  ["does not match the pattern", "not like"],
  ["is under", "under"],
  ["is not under", "not under"],
];
const SET = [
  ["has any of", "one of"],
  ["has all of", "all of"],
  ["has none of", "none of"],
  ["has only", "only of"],
  ["is empty", "is empty"],
  ["is not empty", "not is empty"],
  ...COMPARED.map(([label, word]) => [`count ${label}`, `count ${word}`]),
];
const CLOCK = [
  ["is during", "during"],
  ["is not during", "not during"],
];
const MOMENT = [...COMPARED.slice(0, 4), ...RANGED];
const PLACE = [
  ["is within", "within"],
  ["is not within", "not within"],
  ["is inside", "inside polygon"],
  ["is not inside", "not inside polygon"],
];
const ADDRESS = [
  ["is in the network", "in network"],
  ["is not in the network", "not in network"],
  ["is", "="],
  ["is not", "!="],
];
const BY_TYPE = {
  boolean: [
    ["is true", "is true"],
    ["equals", "="],
    ["differs from", "!="],
  ],
  integer: NUMBER,
  float: NUMBER,
  string: [...LISTED, ["is", "="], ["is not", "!="], ...TEXT],
  "string set": SET,
  "integer set": SET,
  timestamp: [...MOMENT, ...CLOCK],
  "timestamp local": [...CLOCK, ...MOMENT],
  ip: ADDRESS,
  geo: PLACE,
};

const OPPOSITES = { "=": "!=", "one of": "none of", "<": ">=", ">": "<=" };
for (const [one, other] of Object.entries({ ...OPPOSITES })) OPPOSITES[other] = one;

const LISTS = new Set(["in", "in network", "under", "one of", "all of", "none of", "only of"]);
export const takesList = (operator) => LISTS.has(operator);

// A predicate's operator as one text: `not in`, `count >=`.
export function operatorKey({ operator, negated, count }) {
  return `${count ? "count " : ""}${negated ? "not " : ""}${operator}`;
}

export function readOperator(key) {
  const [, count, negated, operator] = /^(count )?(not )?(.*)$/.exec(key);
  return { count: Boolean(count), negated: Boolean(negated), operator };
}

// Those of the type; one that was written in text mode and has no name here is kept as it is.
export function operatorsOf(type, node) {
  const known = [...BY_TYPE[type], ...KNOWN];
  const key = operatorKey(node);
  const isKnown = !node.operator || known.some(([, word]) => word === key);
  return isKnown ? known : [...known, [key, key]];
}

export const firstOperator = (type) => readOperator(BY_TYPE[type][0][1]);

export function labelOf(type, node) {
  return operatorsOf(type, node).find(([, word]) => word === operatorKey(node))?.[0] ?? "";
}

// For completion: as one writes them.
export function writtenOperators(type) {
  return [...BY_TYPE[type], ...KNOWN]
    .filter(([, key]) => key !== "is true" && !key.startsWith("count "))
    .map(([label, key]) => ({ label: key.replace(/^not is /, "is not "), hint: label }));
}

// The operator that says the opposite, or null: then the condition is turned by `not`.
export const oppositeOf = (operator) => OPPOSITES[operator] ?? null;

export const isPresence = (operator) => operator === "is present" || operator === "is missing";

export function widgetName({ operator, count }, { type, domain }) {
  if (!operator || operator.startsWith("is ")) return "nothing";
  if (operator === "between") return "range";
  if (count) return "line";
  if (takesList(operator)) return domain && operator !== "under" ? "checks" : "chips";
  if (operator === "during") return "schedule";
  if (operator === "within") return "circle";
  if (operator === "inside polygon") return "polygon";
  const isClosed = domain && (operator === "=" || operator === "!=");
  return type === "boolean" || isClosed ? "choice" : "line";
}

const WIDE = new Set(["chips", "checks", "circle", "polygon", "schedule"]);
export const isWide = (name) => WIDE.has(name);

// What was entered is kept where the next widget can show it.
const LOOSE = new Set(["chips", "checks", "line", "choice"]);
export function keptValues(node, next, about) {
  const [was, is] = [widgetName(node, about), widgetName({ ...node, ...next }, about)];
  if (was === is && node.count === next.count) return node.values;
  if (!LOOSE.has(was) || !LOOSE.has(is) || node.count !== next.count) return [];
  return is === "chips" || is === "checks" ? node.values : node.values.slice(0, 1);
}
