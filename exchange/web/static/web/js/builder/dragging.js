// Moving rows with the mouse: extra to keys and menu.

export function listenForDrags(tree, place) {
  let dragged = null;
  const itemAt = (event) => dragged && event.target.closest?.("[data-tree] li");
  const isAfter = (item, event) =>
    event.clientY > item.getBoundingClientRect().top + item.offsetHeight / 2;
  const clear = () => {
    for (const item of tree.querySelectorAll(".drop-before, .drop-after"))
      item.classList.remove("drop-before", "drop-after");
  };
  tree.addEventListener("dragstart", (event) => {
    dragged = event.target.closest(".handle")?.closest("[data-id]").dataset.id ?? null;
    if (dragged) event.dataTransfer.setData("text/plain", "");
  });
  tree.addEventListener("dragover", (event) => {
    const item = itemAt(event);
    if (!item) return;
    event.preventDefault();
    clear();
    item.classList.add(isAfter(item, event) ? "drop-after" : "drop-before");
  });
  tree.addEventListener("drop", (event) => {
    const item = itemAt(event);
    if (!item) return;
    event.preventDefault();
    place(dragged, item.querySelector("[data-id]").dataset.id, isAfter(item, event));
  });
  tree.addEventListener("dragend", () => {
    clear();
    dragged = null;
  });
}
