// A form of rows to tick: its button says how many, and waits for the first.
export function startChoosing(root) {
  for (const form of root.querySelectorAll("form[data-choose]")) {
    const button = form.querySelector("[data-choose-button]");
    if (!button) continue;
    const tell = () => {
      const count = form.querySelectorAll("input[type=checkbox]:checked").length;
      button.textContent = count ? `${form.dataset.choose} ${count}` : form.dataset.choose;
      button.disabled = count === 0;
    };
    form.addEventListener("change", tell);
    window.addEventListener("pageshow", tell); // the browser keeps what was ticked
    tell();
  }
}
