// Finds what a condition may be about, by the words that people use: an attribute's name, what is
// said about it, its values, what its type can do; and values that only the log knows.
import { percent } from "./elements.js";

const MOST_OPTIONS = 80;
const LEAST_LETTERS = 3; // of a value that the server is asked for
const VALUES_SHOWN = 5;
// What people call what a type can do.
const CALLED = {
  "timestamp local": "schedule daypart weekday weekend morning evening night hour day week",
  geo: "radius circle around near distance area polygon map place",
};

const groupOf = (name) => (name.includes(".") ? name.slice(0, name.indexOf(".")) : "time");
const valuesOf = ({ domain, top }) => (domain ?? top).map((value) => String(value).toLowerCase());

function describeOption(row) {
  const filled = row.fill === null ? "" : ` · ${percent(row.fill)} filled`;
  const known = row.domain ?? row.top;
  const about = known.length ? known.slice(0, 5).join(", ") : row.description;
  return {
    attribute: row,
    label: row.name,
    group: groupOf(row.name),
    hint: row.type + filled,
    about,
  };
}

// Whether one word is about it: also a plural or another ending, and `smartphone` for `phone`.
function isSaid(word, row) {
  const said = `${row.name} ${row.name.replaceAll(/[._]/g, " ")} ${row.description} ${CALLED[row.type] ?? ""}`;
  const stem = word.length > 4 ? word.replace(/(y|s|ies)$/, "") : word;
  if (said.toLowerCase().includes(stem)) return true;
  return valuesOf(row).some(
    (value) => value.startsWith(word) || (value.length > 4 && word.endsWith(value)),
  );
}

function findRows(attributes, q) {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = [...attributes.values()].filter((row) => words.every((word) => isSaid(word, row)));
  const isNamed = ({ name }) => name.toLowerCase().includes(words[0]);
  if (words.length) rows.sort((a, b) => isNamed(b) - isNamed(a));
  return rows.slice(0, MOST_OPTIONS).map(describeOption);
}

function findAudiences(audiences, q) {
  const wanted = q.toLowerCase();
  return audiences
    .filter(({ name }) => `@${name}`.toLowerCase().includes(wanted))
    .map(({ name, description }) => ({
      audience: name,
      label: `@${name}`,
      group: "audiences",
      hint: "audience",
      about: description,
    }));
}

export function findSubjects({ attributes, audiences }, typed) {
  const q = typed.trim();
  return [...findRows(attributes, q), ...findAudiences(audiences, q)];
}

export async function findValues({ attributes }, typed, asking) {
  const q = typed.trim();
  const found = q.length < LEAST_LETTERS ? [] : await asking.valuesAnywhere(q);
  return found
    .filter(({ attribute }) => attributes.has(attribute))
    .slice(0, VALUES_SHOWN)
    .map(({ attribute, value, share }) => ({
      attribute: attributes.get(attribute),
      value,
      label: String(value),
      group: "values",
      hint: share ? `${attribute} · ${percent(share)} of visits` : attribute,
    }));
}
