// The hours of a week: a grid of 7 x 24, painted by mouse or by Shift and arrows, and its text.
import { h } from "../elements.js";
import { field } from "./values.js";

const DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const HOURS = [...Array(24).keys()];
const WEEK = DAYS.length * 24;
const PRESETS = {
  "Weekday evenings": "Mon-Fri 17:00-23:00",
  "Working hours": "Mon-Fri 09:00-17:00",
  Weekend: "Sat-Sun",
};
const ENTRY = /^ *(?:([A-Za-z]{3})(?:-([A-Za-z]{3}))?(?: +|$))?(?:(\d\d):(\d\d)-(\d\d):(\d\d) *)?$/;
const STEPS = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -24, ArrowDown: 24 };

const dayNumber = (name) => DAYS.findIndex((day) => day.toLowerCase() === name.toLowerCase());

// The minutes of the week that an entry names, each of the days with its own; null if it is none.
function readEntry(entry) {
  const found = ENTRY.exec(entry);
  if (!found || !entry.trim()) return null;
  const [, from, to = from, ...clock] = found;
  const [first, last] = from ? [dayNumber(from), dayNumber(to)] : [0, 6];
  if (first < 0 || last < 0) return null;
  const [hour, minute, endHour, endMinute] = clock.map(Number);
  const start = clock[0] ? hour * 60 + minute : 0;
  const end = clock[0] ? endHour * 60 + endMinute : 1440;
  const length = end > start ? end - start : end + 1440 - start;
  const days = (last - first + 7) % 7;
  return [...Array(days + 1).keys()].map((i) => ({
    start: ((first + i) % 7) * 1440 + start,
    length,
  }));
}

// Each hour is 1, 0, or the part of it; null when the text is no schedule.
export function readSchedule(text) {
  const minutes = new Uint8Array(WEEK * 60);
  for (const entry of text.split(",")) {
    const spans = readEntry(entry);
    if (!spans) return null;
    for (const { start, length } of spans) {
      for (let i = 0; i < length; i += 1) minutes[(start + i) % minutes.length] = 1;
    }
  }
  const count = (hour) =>
    minutes.subarray(hour * 60, hour * 60 + 60).reduce((sum, bit) => sum + bit, 0);
  return Array.from({ length: WEEK }, (_, hour) => count(hour) / 60);
}

const clock = (hour) => `${String(hour).padStart(2, "0")}:00`;

// The spans of one day, as they are written behind its name.
function printDay(hours) {
  const spans = [];
  for (const hour of HOURS) {
    if (!hours[hour]) continue;
    if (spans.at(-1)?.[1] === hour) spans.at(-1)[1] = hour + 1;
    else spans.push([hour, hour + 1]);
  }
  return spans.map(([from, to]) => (to - from === 24 ? "" : ` ${clock(from)}-${clock(to)}`));
}

// A whole day is one empty span: not the same as none.
const isAlike = (one, other) => JSON.stringify(one) === JSON.stringify(other);

export function printSchedule(hours) {
  const days = DAYS.map((_, day) => printDay(hours.slice(day * 24, day * 24 + 24)));
  const entries = [];
  for (let day = 0; day < 7;) {
    let last = day;
    while (last < 6 && isAlike(days[last + 1], days[day])) last += 1;
    const name = last > day ? `${DAYS[day]}-${DAYS[last]}` : DAYS[day];
    entries.push(...days[day].map((span) => name + span));
    day = last + 1;
  }
  return entries.join(", ");
}

class Schedule {
  constructor(row) {
    this.row = row;
    this.hours = readSchedule(row.node().values[0] ?? "") ?? Array(WEEK).fill(0);
    this.paint = null; // what the pointer paints while it is down
    const props = { placeholder: "Mon-Fri 17:00-23:00", class: "wide" };
    this.text = field(
      row,
      row.node().values[0],
      "Schedule as text",
      (text) => this.type(text),
      props,
    );
    this.cells = this.hours.map((_, at) => this.cell(at));
    const presets = Object.entries(PRESETS).map(([name, text]) => this.preset(name, text));
    this.element = h(
      "div",
      { class: "schedule" },
      h("div", { class: "inline" }, this.text, presets),
      this.table(),
    );
    this.draw();
  }

  type(text) {
    const read = readSchedule(text);
    if (!read && text.trim()) return false;
    this.hours = read ?? Array(WEEK).fill(0);
    this.row.set({ values: text.trim() ? [text] : [] }, "Schedule set");
    this.draw();
    return true;
  }

  preset(name, text) {
    const onclick = () => {
      this.text.value = text;
      this.text.dispatchEvent(new Event("input"));
    };
    return h("button", { type: "button", class: "button small", onclick }, name);
  }

  cell(at) {
    const label = `${DAYS[Math.floor(at / 24)]} ${clock(at % 24)}`;
    const key = at ? null : "grid";
    return h("td", {
      role: "gridcell",
      tabIndex: at ? -1 : 0,
      "data-key": key,
      "data-at": at,
      "aria-label": label,
    });
  }

  table() {
    const head = HOURS.map((hour) =>
      h(
        "th",
        { role: "columnheader" },
        h("span", { class: hour % 3 ? "unseen" : "" }, String(hour)),
      ),
    );
    const corner = h("th", { role: "columnheader" }, h("span", { class: "unseen" }, "Day"));
    const body = h(
      "tbody",
      {
        onpointerdown: (event) => this.press(event),
        onpointerover: (event) => this.drag(event),
        onkeydown: (event) => this.key(event),
      },
      DAYS.map((day, number) => this.day(day, number)),
    );
    const label = "Hours of the week. Space switches, Shift and arrows paint.";
    return h(
      "table",
      { role: "grid", "aria-label": label },
      h("thead", {}, h("tr", { role: "row" }, corner, head)),
      body,
    );
  }

  day(name, number) {
    const all = HOURS.map((hour) => number * 24 + hour);
    const onclick = () => this.set(all, all.every((at) => this.hours[at]) ? 0 : 1);
    const whole = h(
      "button",
      { type: "button", tabindex: "-1", "aria-label": `All of ${name}`, onclick },
      name,
    );
    return h(
      "tr",
      { role: "row" },
      h("th", { role: "rowheader", scope: "row" }, whole),
      this.cells.slice(all[0], all[0] + 24),
    );
  }

  draw() {
    this.cells.forEach((cell, at) => {
      const part = this.hours[at];
      cell.setAttribute("aria-selected", String(part === 1));
      cell.classList.toggle("part", part > 0 && part < 1);
    });
  }

  // Painting is by whole hours: parts of hours become whole ones.
  set(places, value) {
    this.hours = this.hours.map((hour, at) => (places.includes(at) ? value : Math.ceil(hour)));
    this.text.value = printSchedule(this.hours);
    this.text.setAttribute("aria-invalid", "false");
    this.row.set(
      { values: this.text.value ? [this.text.value] : [] },
      this.text.value || "No hours",
    );
    this.draw();
  }

  go(at) {
    for (const cell of this.cells) cell.tabIndex = -1;
    this.cells[at].tabIndex = 0;
    this.cells[at].focus();
  }

  placeOf = ({ target }) => Number(target.dataset.at ?? NaN);

  press(event) {
    const at = this.placeOf(event);
    if (!(at >= 0)) return;
    event.preventDefault();
    this.paint = this.hours[at] ? 0 : 1;
    this.set([at], this.paint);
    this.go(at);
    // A finger's pointer stays with the cell it began on, unless it is let go.
    event.target.releasePointerCapture?.(event.pointerId);
  }

  drag(event) {
    const at = this.placeOf(event);
    if (!event.buttons) this.paint = null;
    else if (this.paint !== null && at >= 0) this.set([at], this.paint);
  }

  key(event) {
    const at = this.placeOf(event);
    if (!(at >= 0) || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === " " || event.key === "Enter") {
      event.preventDefault();
      this.set([at], this.hours[at] ? 0 : 1);
      return;
    }
    const row = at - (at % 24);
    const next = { Home: row, End: row + 23 }[event.key] ?? at + (STEPS[event.key] ?? NaN);
    if (!(next >= 0 && next < WEEK)) return;
    event.preventDefault();
    if (event.shiftKey) this.set([at, next], 1);
    this.go(next);
  }
}

export const schedule = (row) => new Schedule(row).element;
