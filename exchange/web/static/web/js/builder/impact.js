// What the expression reaches, beside the editor: asked 400 ms after a check; of several questions
// only the last one counts. The contract with the editor: docs/builder.md.
import { untilLeft } from "../leaving.js";
import { currentToken } from "../tokens.js";
import { amount, button, h, percent, plural } from "./elements.js";

const PAUSE_MS = 400;
const ADDRESS = "/api/v1/expressions:impact";
const STAGES = {
  targeting: "Targeting",
  booked: "At booked publishers",
  eligible: "Eligible, after edges",
};
const UNCLEAR = 0.5; // of the figure, to either side
const HOW_DAYS_ARE_TOLD = { day: "numeric", month: "short", timeZone: "UTC" };
const tellDay = (text) => new Date(text).toLocaleDateString("en-GB", HOW_DAYS_ARE_TOLD);

class Impact {
  constructor(panel, root) {
    Object.assign(this, { panel, root, serial: 0 });
    this.body = h("div", { class: "body stack" });
    this.status = h("p", { class: "soft small", role: "status", "aria-live": "polite" });
    const head = h("header", {}, h("h2", {}, "Impact"), this.status);
    panel.replaceChildren(h("div", { class: "impact" }, head, this.body));
    this.headline = root.querySelector("[data-headline]"); // where there is no room beside
    root.addEventListener("expression:checked", ({ detail }) => this.changed(detail));
    const { last, now } = root.editor;
    if (last) this.changed({ text: now.text, answer: last });
  }

  changed({ text, answer }) {
    clearTimeout(this.timer);
    this.serial += 1;
    this.panel.hidden = false;
    if (!answer.valid) return this.say("The figures are of the last valid version.");
    if (!answer.document) return this.empty();
    this.say("Counting …");
    this.body.classList.add("waiting");
    this.timer = setTimeout(() => this.ask(text), PAUSE_MS);
    return undefined;
  }

  say(text) {
    this.body.classList.remove("waiting");
    this.status.textContent = text;
  }

  async ask(text) {
    const mine = this.serial;
    const { campaign } = this.panel.dataset;
    const body = { text, ...this.root.editor.whose(), ...(campaign && { campaign }) };
    const answer = await send(body);
    if (mine !== this.serial) return;
    if (answer) this.draw(answer);
    else this.fail();
  }

  empty() {
    this.say("");
    this.sayShort("");
    this.share({});
    this.body.replaceChildren(
      h("p", { class: "soft" }, "Add a condition to see what it reaches. An empty targeting reaches no one."),
    );
  }

  fail() {
    if (untilLeft().aborted) return;
    this.say("");
    this.sayShort("");
    this.share({});
    this.body.replaceChildren(
      h("p", {}, "The figures cannot be counted just now. Saving works all the same."),
      button("Count again", () => this.root.editor.checkSoon(0)),
    );
  }

  // The figure, for who does not see the panel while building.
  sayShort(text) {
    this.headline.textContent = text;
  }

  share(shares) {
    this.root.dispatchEvent(new CustomEvent("expression:shares", { detail: { shares } }));
  }

  draw(answer) {
    this.say("");
    this.share(answer.shares ?? {});
    const isTold = answer.counted && !answer.hidden;
    this.sayShort(isTold ? `${amount(answer.visits_a_day)} visits a day` : "");
    if (!answer.counted) return this.body.replaceChildren(...drawNeverCounted());
    const figures = answer.hidden ? drawHidden(answer) : drawFigures(answer);
    const limits = answer.hidden ? [] : this.drawLimits(answer.limits);
    const { campaign } = this.panel.dataset;
    return this.body.replaceChildren(...figures, ...limits, drawSource(answer, campaign));
  }

  drawLimits(limits) {
    if (!limits.length) return [];
    const rows = limits.map(({ path, gain, words }) => {
      const name = this.nameOf(path);
      const props = { class: "button small", "aria-label": `Try without ${name}` };
      return h(
        "li",
        {},
        h("span", { class: "name", title: name }, words[0].toUpperCase() + words.slice(1)),
        h("span", { class: "gain" }, `+ ${amount(gain)} without`),
        button("Try without", () => this.tryWithout(path), props),
      );
    });
    return [h("h3", {}, "Limits most"), h("ul", { class: "limits" }, rows)];
  }

  // The condition as it stands in the text; spans count code points.
  nameOf(path) {
    const { spans, text } = this.root.editor.last;
    return [...text].slice(...spans[path]).join("").replaceAll(/\s+/g, " ");
  }

  tryWithout(path) {
    this.root.dispatchEvent(new CustomEvent("expression:disable", { detail: { path } }));
  }
}

// The answer, or null: no server, no session, a page that is being left.
async function send(body) {
  const headers = { "Content-Type": "application/json", "X-CSRFToken": currentToken() };
  const options = { method: "POST", headers, body: JSON.stringify(body), signal: untilLeft() };
  try {
    const response = await fetch(ADDRESS, options);
    return response.ok ? await response.json() : null;
  } catch {
    return null;
  }
}

function drawNeverCounted() {
  return [
    h("p", {}, h("strong", {}, "No night has been counted yet")),
    h(
      "p",
      { class: "soft" },
      "Figures come from a sample that is drawn each night. Wait for the first night, or ask for a report of a logged day under ",
      h("a", { href: "/reports/" }, "Reports"),
      ".",
    ),
  ];
}

function drawHidden({ least_people: least }) {
  return [
    h("p", {}, h("strong", {}, `Fewer than ${least} people of the sample`)),
    h("p", { class: "soft" }, "A condition is about persons, so figures of so few are not told."),
  ];
}

function drawFigures(answer) {
  const { visits_a_day: visits, publishers, stages, saved } = answer;
  return [
    h("p", { class: "figure" }, h("strong", {}, amount(visits)), " visits a day"),
    h("p", { class: "soft" }, tellInterval(answer)),
    h("p", {}, `by ${tellUsers(answer)} a day, at ${plural(publishers, "publisher")}`),
    saved && h("p", { class: "against" }, tellDifference(visits, saved)),
    h("dl", { class: "stages" }, Object.entries(stages).map(drawStage(stages))),
  ].filter(Boolean);
}

function tellUsers({ users_a_day: users, users_below: below }) {
  return users === null ? `fewer than ${below} known users` : plural(users, "known user");
}

function tellInterval({ visits_a_day: visits, interval: [low, high] }) {
  if (!visits) return `Not one visit of the sample: fewer than about ${amount(high)} a day.`;
  if (high - visits > UNCLEAR * visits)
    return `Few people of the sample: between ${amount(low)} and ${amount(high)}.`;
  return `${amount(low)} to ${amount(high)}, with 95 % certainty`;
}

function tellDifference(visits, { visits_a_day: before, is_live: isLive }) {
  const version = isLive ? "the live version" : "the saved version";
  if (visits === before) return `As many as ${version}`;
  if (!before) return `+ ${amount(visits)} against ${version}, which reaches none`;
  const change = visits / before - 1;
  return `${change < 0 ? "−" : "+"} ${percent(Math.abs(change))} against ${version}`;
}

function drawStage(stages) {
  const most = Math.max(...Object.values(stages), 1);
  return ([name, count]) => {
    const fill = h("span", { class: "fill" });
    fill.style.setProperty("inline-size", `${(100 * count) / most}%`);
    return [
      h("dt", {}, STAGES[name]),
      h(
        "dd",
        {},
        h("span", { class: "track", "aria-hidden": "true" }, fill),
        h("span", { class: "number" }, amount(count)),
      ),
    ];
  };
}

function drawSource({ sample, days, from, to }, campaign) {
  const when = from === to ? tellDay(to) : `${tellDay(from)} to ${tellDay(to)}`;
  const exact = `/reports/eligible-visits/${campaign ? `?campaign=${campaign}` : ""}`;
  return h(
    "p",
    { class: "soft small" },
    `Counted on a sample of ${plural(sample, "visit")} of ${plural(days, "day")}, ${when}. `,
    h("a", { href: exact }, "Exact figures of last night"),
  );
}

for (const panel of document.querySelectorAll("[data-impact]")) {
  const root = panel.closest("form").querySelector("[data-expression-editor]");
  new Impact(panel, root);
}
