// A text field with what fits below it: the arrows choose, Enter takes, Escape closes, and so does
// the pointer. htmx asks for the options; here is what makes them a combobox. One in a dialog goes
// to the address of what is taken, and is never closed but with its dialog.

let made = 0;

class Combobox {
  constructor(input) {
    this.input = input;
    this.list = document.querySelector(input.getAttribute("hx-target"));
    this.goes = "goes" in input.dataset;
    this.chosen = null;
    input.setAttribute("role", "combobox");
    input.setAttribute("aria-autocomplete", "list");
    input.setAttribute("aria-controls", this.list.id);
    this.show(false);
    this.listen();
    // Whoever was there before the script asks now: htmx did not hear of it.
    if (document.activeElement === input) input.dispatchEvent(new Event("focus"));
  }

  listen() {
    this.list.addEventListener("htmx:afterSwap", () => this.refill());
    this.list.addEventListener("pointerdown", (event) => event.preventDefault()); // keeps the focus
    this.list.addEventListener("click", (event) => {
      const option = event.target.closest("[role=option]");
      if (option) this.take(option);
    });
    this.input.addEventListener("keydown", (event) => this.press(event));
    this.input.addEventListener("blur", () => this.show(false));
    this.input.addEventListener("focus", () => this.show(this.goes || this.options().length > 0));
  }

  options() {
    return [...this.list.querySelectorAll("[role=option]")];
  }

  show(isOpen) {
    const isShown = isOpen || this.goes;
    this.list.hidden = !isShown;
    this.input.setAttribute("aria-expanded", String(isShown));
    if (!isShown) this.choose(null);
  }

  refill() {
    for (const option of this.options()) option.id ||= `option-${(made += 1)}`;
    const isWanted = document.activeElement === this.input;
    this.show(isWanted && this.list.children.length > 0);
    this.choose(this.goes ? this.options()[0] : null);
  }

  choose(option) {
    this.chosen?.removeAttribute("aria-selected");
    this.chosen = option ?? null;
    if (!option) {
      this.input.removeAttribute("aria-activedescendant");
      return;
    }
    option.setAttribute("aria-selected", "true");
    this.input.setAttribute("aria-activedescendant", option.id);
    option.scrollIntoView({ block: "nearest" });
  }

  press(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) this.move(step, event);
    else if (event.key === "Enter" && this.chosen && !this.list.hidden) {
      event.preventDefault();
      this.take(this.chosen);
    } else if (event.key === "Escape" && !this.goes && !this.list.hidden) {
      event.preventDefault();
      this.show(false);
    }
  }

  move(step, event) {
    const options = this.options();
    if (!options.length) return;
    event.preventDefault();
    if (this.list.hidden) this.show(true);
    const place = options.indexOf(this.chosen);
    const next = place < 0 && step < 0 ? options.length - 1 : place + step;
    this.choose(options[(next + options.length) % options.length]);
  }

  take(option) {
    if (this.goes) {
      window.location.assign(option.dataset.href);
      return;
    }
    this.input.value = option.dataset.value;
    this.show(false);
    this.input.dispatchEvent(new Event("change", { bubbles: true }));
  }
}

// Called once htmx knows the fields, which is after all scripts of the page.
export function startComboboxes(root) {
  for (const input of root.querySelectorAll("input[data-combobox]")) {
    if (input.getAttribute("role") !== "combobox") new Combobox(input);
  }
}

// Ctrl+K, or Cmd+K, on every page.
export function startJump() {
  const dialog = document.getElementById("jump");
  const button = document.querySelector("[data-jump]");
  if (!dialog || !button) return;
  const input = dialog.querySelector("input");
  const open = (event) => {
    event.preventDefault();
    if (dialog.open) return;
    dialog.showModal();
    input.select();
  };
  button.addEventListener("click", open);
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey)) open(event);
  });
  // A search field would take the first Escape to empty itself.
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape") dialog.close();
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
}
