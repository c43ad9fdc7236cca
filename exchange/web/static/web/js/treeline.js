// What every page does: the menu, the guard of unsaved work, colours, and words for lost requests.
import { startChoosing } from "./choosing.js";
import { colour } from "./colours.js";
import { startComboboxes, startJump } from "./combobox.js";
import { startDrafts } from "./drafts.js";
import { startLeaving } from "./leaving.js";
import { showLocalTimes, startOwnTimes } from "./local_times.js";
import { startTokens } from "./tokens.js";
import { startVisitEditors } from "./visit_editor.js";

const SECOND_CLICK_MS = 3000;

function startMenu() {
  const button = document.querySelector("[data-menu]");
  const side = document.querySelector(".side");
  button?.addEventListener("click", () => {
    const isOpen = side.toggleAttribute("data-open");
    button.setAttribute("aria-expanded", String(isOpen));
  });
}

// Leaving a form with unsaved work asks first. What was sent is no longer unsaved.
function startGuard() {
  for (const form of document.querySelectorAll("form[data-guard]")) {
    let isDirty = Boolean(form.querySelector("[data-wrong], .problems li"));
    form.addEventListener("input", (event) => {
      if (event.target.name) isDirty = true;
    });
    form.addEventListener("submit", () => {
      isDirty = false;
    });
    window.addEventListener("beforeunload", (event) => {
      if (isDirty) event.preventDefault();
    });
  }
}

// What cannot be undone by a click is asked first.
function startConfirms() {
  document.addEventListener("submit", (event) => {
    const question = event.submitter?.dataset.confirm ?? event.target.dataset.confirm;
    if (question && !window.confirm(question)) event.preventDefault();
  });
}

// A second click while the first is on its way sends nothing. It may be stopped, or come to nothing:
// a little later, or back on the page, the form can be sent again.
function startOnce() {
  const sent = new Set();
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (event.defaultPrevented || form.method !== "post") return;
    if (sent.has(form)) event.preventDefault();
    sent.add(form);
    setTimeout(() => sent.delete(form), SECOND_CLICK_MS);
  });
  window.addEventListener("pageshow", () => sent.clear());
}

function say(...words) {
  const place = document.getElementById("messages");
  place.querySelector("[data-lost]")?.remove();
  const message = document.createElement("p");
  message.className = "message warning toast";
  message.dataset.lost = "";
  message.append(...words);
  place.append(message);
}

function loginLink() {
  const link = document.createElement("a");
  link.href = "/login/";
  link.target = "_blank";
  link.textContent = "Log in again in a new tab";
  return link;
}

function startWordsForLostRequests() {
  document.body.addEventListener("htmx:sendError", () => {
    say("The server cannot be reached. What you typed is kept; try again in a moment.");
  });
  document.body.addEventListener("htmx:responseError", (event) => {
    const status = event.detail.xhr.status;
    if (status === 401) say("Your session has ended. ", loginLink(), ", then go on here.");
    else if (status === 403) say("You may not do this.");
    else say(`The server could not answer this (error ${status}). What you typed is kept.`);
  });
  document.body.addEventListener("htmx:afterRequest", (event) => {
    if (event.detail.successful) document.querySelector("[data-lost]")?.remove();
  });
}

function colourExpressions(root) {
  for (const element of root.querySelectorAll("[data-expression]")) {
    const text = element.textContent;
    element.replaceChildren(colour(text));
    element.removeAttribute("data-expression");
  }
}

// Shown once: one press takes a secret along. Needs a page that came over https or from this machine.
function startCopying() {
  for (const button of document.querySelectorAll("[data-copy]")) {
    const field = document.querySelector(button.dataset.copy);
    button.hidden = false;
    button.addEventListener("click", async () => {
      field.select();
      try {
        await navigator.clipboard.writeText(field.value);
        button.textContent = "Copied";
      } catch {
        button.textContent = "Press Ctrl+C";
      }
    });
  }
}

// Words that stay until the next ones: where the page is scrolled to, they are seen.
function startToasts() {
  for (const button of document.querySelectorAll("[data-toast]")) {
    button.addEventListener("click", () => say(button.dataset.toast));
  }
}

startMenu();
startToasts();
startCopying();
startTokens();
startDrafts(say);
startGuard();
startConfirms();
startOnce();
startLeaving();
startWordsForLostRequests();
colourExpressions(document);
showLocalTimes(document);
startOwnTimes();
startVisitEditors(document);
startChoosing(document);
startJump();
document.body.addEventListener("htmx:load", (event) => {
  colourExpressions(event.detail.elt);
  startComboboxes(event.detail.elt);
  showLocalTimes(event.detail.elt);
  startVisitEditors(event.detail.elt);
});
