// What was typed into a form survives a session that ends in between: it is kept in this tab while
// the form is sent, and written back when the same form appears again, empty, after the login.

const KEY = "draft";

function read(form) {
  return [...new FormData(form)].filter(([name]) => name !== "csrfmiddlewaretoken");
}

function write(form, fields) {
  const values = new Map(fields);
  for (const element of form.elements) {
    if (!element.name || element.name === "csrfmiddlewaretoken") continue;
    if (element.type === "checkbox") element.checked = values.has(element.name);
    else if (values.has(element.name)) element.value = values.get(element.name);
  }
}

// Any page but the login's ends the draft: it was saved, or came back with its errors. A form that
// stays on its page when it was saved is there again, empty, below the words that say so.
function take() {
  const text = sessionStorage.getItem(KEY);
  sessionStorage.removeItem(KEY);
  return text && !document.querySelector("#messages .success") ? JSON.parse(text) : null;
}

export function startDrafts(say) {
  const draft = take();
  for (const form of document.querySelectorAll("form[data-guard]")) {
    if (draft?.path === location.pathname && !("bound" in form.dataset)) {
      write(form, draft.fields);
      say("You were logged out before this was saved. What you typed is here again: please save.");
    }
    form.addEventListener("submit", () => {
      const kept = { path: location.pathname, fields: read(form) };
      sessionStorage.setItem(KEY, JSON.stringify(kept));
    });
  }
}
