// An area as a list of points, one a line, with its outline drawn beside it.
import { h } from "../elements.js";
import { readPoint } from "./circle.js";

const SVG = "http://www.w3.org/2000/svg";
const EXAMPLE = "52.60, 13.20\n52.60, 13.60\n52.40, 13.40";

function outline() {
  const svg = document.createElementNS(SVG, "svg");
  const shape = document.createElementNS(SVG, "polygon");
  svg.setAttribute("class", "outline");
  svg.setAttribute("aria-hidden", "true");
  svg.append(shape);
  const draw = (points) => {
    const xs = points.map(([, lon]) => lon);
    const ys = points.map(([lat]) => -lat);
    const [left, top] = [Math.min(...xs), Math.min(...ys)];
    const size = Math.max(Math.max(...xs) - left, Math.max(...ys) - top, 0.001);
    const box = [left - size * 0.05, top - size * 0.05, size * 1.1, size * 1.1];
    svg.setAttribute("viewBox", box.join(" "));
    shape.setAttribute("points", points.map(([lat, lon]) => `${lon},${-lat}`).join(" "));
  };
  return { svg, draw };
}

export function polygon(row) {
  const { svg, draw } = outline();
  const points = row.node().values;
  const oninput = ({ target }) => {
    const lines = target.value.split("\n").filter((line) => line.trim());
    const read = lines.map(readPoint);
    target.setAttribute("aria-invalid", String(read.includes(null)));
    if (read.includes(null)) return;
    row.set({ values: read }, `${read.length} points`);
    if (read.length) draw(read);
  };
  const area = h("textarea", {
    rows: 4,
    "aria-label": "Points, one a line: latitude, longitude",
    "data-key": "value",
    placeholder: EXAMPLE,
    value: points.map((point) => point.join(", ")).join("\n"),
    oninput,
  });
  if (points.length) draw(points);
  return h("span", { class: "inline polygon" }, area, svg);
}
