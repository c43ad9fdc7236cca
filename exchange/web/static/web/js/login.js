// Fills in a demo login; the buttons stay hidden where there is no script.
const form = document.getElementById("login");

for (const button of document.querySelectorAll("[data-login]")) {
  button.hidden = false;
  button.addEventListener("click", () => {
    form.elements.username.value = button.dataset.login;
    form.elements.password.value = "treeline-demo";
    form.requestSubmit();
  });
}
