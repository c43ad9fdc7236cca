// A radius around a place: a city by its name, or latitude and longitude, also pasted together.
import { h } from "../elements.js";
import { combobox } from "./combobox.js";
import { several } from "./numbers.js";

const NEAR = 0.03; // degrees: a place of that name is here
const USUAL_KM = "25";
const POINT = /^\s*\(?\s*(-?\d+(?:\.\d+)?)\s*[,;\s]\s*(-?\d+(?:\.\d+)?)\s*\)?\s*,?\s*$/;

export function readPoint(text) {
  const found = POINT.exec(text);
  return found && [Number(found[1]), Number(found[2])];
}

function nameOf(places, [lat, lon]) {
  const isHere = ([, at]) => Math.abs(at[0] - lat) < NEAR && Math.abs(at[1] - lon) < NEAR;
  return places.find(isHere)?.[0] ?? "";
}

// By its whole name, or by the beginning of one.
function findPlace(places, text) {
  const typed = text.toLowerCase();
  const whole = places.find(([name]) => name.toLowerCase() === typed);
  const begun = places.find(([name]) => typed && name.toLowerCase().startsWith(typed));
  return whole ?? (begun || [text, readPoint(text)]);
}

export function circle(row) {
  const places = Object.entries(row.places());
  const [lat, lon, km] = several(row, ["Latitude", "Longitude", "Radius in km"]);
  km.placeholder = USUAL_KM;
  const goTo = (point) => {
    [lat.value, lon.value] = point;
    km.value ||= USUAL_KM;
    row.set({ values: [...point, Number(km.value)] }, "Place set");
  };
  const onpaste = (event) => {
    const point = readPoint(event.clipboardData.getData("text"));
    if (!point) return;
    event.preventDefault();
    goTo(point);
  };
  for (const input of [lat, lon]) input.addEventListener("paste", onpaste);
  const place = combobox({
    label: "Place",
    placeholder: "City, or 52.5, 13.4",
    isFree: true,
    key: "place",
    onpaste,
    value: nameOf(places, row.node().values),
    find: async (q) =>
      places
        .filter(([name]) => name.toLowerCase().includes(q.toLowerCase()))
        .slice(0, 8)
        .map(([name, at]) => ({ value: name, hint: at.join(", ") })),
    pick: ({ value }) => {
      const { input } = place.combobox;
      const [name, point] = findPlace(places, value);
      input.value = name;
      input.setAttribute("aria-invalid", String(!point));
      if (point) goTo(point);
    },
  });
  const pair = (word, input) => h("span", { class: "pair" }, word, input);
  return h(
    "span",
    { class: "inline" },
    h("span", { class: "pair" }, km, "km around"),
    place,
    pair("latitude", lat),
    pair("longitude", lon),
  );
}
