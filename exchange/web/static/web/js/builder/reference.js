// The list of attributes beside the text: search, and a click that writes one into it.

export function startReference(root, marked) {
  const panel = root.querySelector("[data-reference]");
  if (!panel) return;
  const search = panel.querySelector("input[type=search]");
  const items = [...panel.querySelectorAll("li")];
  panel.addEventListener("click", (event) => {
    const button = event.target.closest("[data-insert]");
    if (button) marked.insert(button.dataset.insert);
  });
  search.addEventListener("input", () => {
    const wanted = search.value.trim().toLowerCase();
    for (const item of items) item.hidden = !item.textContent.toLowerCase().includes(wanted);
    panel.querySelector("[data-none]").hidden = items.some((item) => !item.hidden);
  });
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") event.preventDefault();
  });
}
