// The widget for a row's values. A widget reads `row.node()` and calls `row.set(fields, said)`; it
// keeps its own elements while someone works in it.
import { widgetName } from "../operators.js";
import { checks, choice } from "./checks.js";
import { chips } from "./chips.js";
import { circle } from "./circle.js";
import { line, range } from "./numbers.js";
import { polygon } from "./polygon.js";
import { schedule } from "./schedule.js";

const WIDGETS = {
  nothing: () => "",
  chips,
  checks,
  choice,
  line,
  range,
  circle,
  polygon,
  schedule,
};

export const widgetOf = (row) => WIDGETS[widgetName(row.node(), row.about)](row);
