// One value in a field, or two: between.
import { h } from "../elements.js";
import { field, kindOf, readValue } from "./values.js";

const PLACEHOLDERS = { like: "*.example/*", timestamp: "2026-11-16T00:00:00Z" };

export function line(row) {
  const { node, about } = row;
  const placeholder = PLACEHOLDERS[node().operator] ?? PLACEHOLDERS[about.type.split(" ")[0]] ?? "";
  const take = (text) => {
    const value = text === "" ? undefined : readValue(text, kindOf(row));
    if (value === null) return false;
    row.set({ values: value === undefined ? [] : [value] }, "Value set");
    return true;
  };
  return field(row, node().values[0], "Value", take, { placeholder });
}

// Fields that each hold one of several values; an empty one is null, and the row unfinished.
export function several(row, labels) {
  return labels.map((label, at) =>
    field(row, row.node().values[at], label, (text) => {
      const value = text.trim() === "" ? null : readValue(text, kindOf(row));
      const values = labels.map((_, i) => (i === at ? value : (row.node().values[i] ?? null)));
      row.set({ values }, "Value set");
      return value !== null || text.trim() === "";
    }),
  );
}

export function range(row) {
  const [from, to] = several(row, ["From", "To"]);
  return h("span", { class: "inline" }, from, "and", to);
}
