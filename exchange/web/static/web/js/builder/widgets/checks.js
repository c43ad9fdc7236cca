// The values of a closed domain: a box each, or one of them.
import { h } from "../elements.js";
import { chips } from "./chips.js";

export function checks(row) {
  const { values, list } = row.node();
  if (list) return chips(row);
  const box = (value) => {
    const onchange = ({ target }) => {
      const others = row.node().values.filter((each) => each !== value);
      const next = target.checked ? [...others, value] : others;
      row.set({ values: next }, `${value} ${target.checked ? "added" : "removed"}`);
    };
    const checked = values.includes(value);
    return h(
      "label",
      {},
      h("input", { type: "checkbox", checked, "data-key": "value", onchange }),
      String(value),
    );
  };
  return h(
    "div",
    { class: "checks", role: "group", "aria-label": row.about.name },
    row.about.domain.map(box),
  );
}

export function choice(row) {
  const options = row.about.type === "boolean" ? [true, false] : row.about.domain;
  const chosen = options.indexOf(row.node().values[0]);
  const onchange = ({ target }) => {
    row.set({ values: target.value === "" ? [] : [options[target.value]] }, "Value set");
  };
  return h(
    "select",
    { "aria-label": "Value", "data-key": "value", onchange },
    h("option", { value: "" }, "Choose…"),
    options.map((value, i) => h("option", { value: i, selected: i === chosen }, String(value))),
  );
}
