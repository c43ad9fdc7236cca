// Logging in again, in another tab say, changes the token that forms are protected with. What is
// sent carries the token of now, so that a page opened before the login still works.

export function currentToken() {
  const found = document.cookie.split("; ").find((cookie) => cookie.startsWith("csrftoken="));
  return found?.slice("csrftoken=".length);
}

function refreshToken(form) {
  const field = form.elements.csrfmiddlewaretoken;
  const token = currentToken();
  if (field && token) field.value = token;
}

export function startTokens() {
  // While the event is captured: before htmx reads the form.
  document.addEventListener("submit", (event) => refreshToken(event.target), true);
}
