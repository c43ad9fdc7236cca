// Fills in a demo login; the buttons stay hidden where there is no script. The password stands in the
// page, and only where these logins work.
const form = document.getElementById("login");
const demo = document.getElementById("demo-logins");

for (const button of demo.querySelectorAll("[data-login]")) {
  button.hidden = false;
  button.addEventListener("click", () => {
    form.elements.username.value = button.dataset.login;
    form.elements.password.value = demo.dataset.password;
    form.requestSubmit();
  });
}
