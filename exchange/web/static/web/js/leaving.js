// A page that is being left asks for nothing more: once a form of it is sent, the session may have
// ended, and every answer would be a refusal. A person who goes on here has not left after all.

const open = new Set();
const ended = new WeakSet();
let left = new AbortController();

// For `fetch`: aborted from the moment of leaving on.
export function untilLeft() {
  return left.signal;
}

function leave() {
  left.abort();
  for (const request of open) request.abort();
}

function stay() {
  if (left.signal.aborted) left = new AbortController();
}

// A request that is ended early, because a newer one takes its place or the page is left, is no
// error. htmx writes it into the console as one, unless its logger takes that mark away.
function startQuietEnds() {
  document.body.addEventListener("htmx:beforeSend", (event) => {
    const request = event.detail.xhr;
    const finish = request.onabort;
    open.add(request);
    request.onabort = () => {
      ended.add(request);
      finish();
    };
  });
  document.body.addEventListener("htmx:afterRequest", (event) => open.delete(event.detail.xhr));
  window.htmx.logger = (_element, _name, detail) => {
    if (detail.error && ended.has(detail.xhr)) detail.error = null;
  };
}

export function startLeaving() {
  startQuietEnds();
  document.body.addEventListener("htmx:beforeRequest", (event) => {
    if (left.signal.aborted) event.preventDefault();
  });
  // On the window: htmx and our own questions had their say, and may have prevented it.
  window.addEventListener("submit", (event) => {
    if (!event.defaultPrevented) leave();
  });
  for (const sign of ["pointerdown", "keydown", "input", "pageshow"]) {
    window.addEventListener(sign, stay);
  }
}
