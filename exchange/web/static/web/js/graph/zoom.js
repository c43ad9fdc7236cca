// Larger and smaller by buttons, keys, or the wheel with Ctrl; a larger drawing is dragged. Moves the
// drawing's own window (viewBox), so that nothing is laid out anew.
const MOST = 8;
const DRAG_PIXELS = 4;

export function startZoom(drawing, buttons) {
  const whole = drawing.viewBox.baseVal;
  const [left, top, width, height] = [whole.x, whole.y, whole.width, whole.height];
  let [x, y, scale] = [left, top, 1];

  function show() {
    const [w, h] = [width / scale, height / scale];
    x = Math.min(Math.max(x, left), left + width - w);
    y = Math.min(Math.max(y, top), top + height - h);
    drawing.setAttribute("viewBox", `${x} ${y} ${w} ${h}`);
    drawing.classList.toggle("zoomed", scale > 1);
  }

  // What lies at the point stays there.
  function zoom(by, px = 0.5, py = 0.5) {
    const next = by ? Math.min(Math.max(scale * by, 1), MOST) : 1;
    x += px * (width / scale - width / next);
    y += py * (height / scale - height / next);
    scale = next;
    show();
  }

  buttons.hidden = false;
  buttons.addEventListener("click", (event) => {
    const button = event.target.closest("[data-zoom-by]");
    if (button) zoom(Number(button.dataset.zoomBy));
  });
  drawing.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    const box = drawing.getBoundingClientRect();
    zoom(event.deltaY < 0 ? 1.2 : 1 / 1.2, (event.clientX - box.x) / box.width, (event.clientY - box.y) / box.height);
  }, { passive: false });
  drawing.addEventListener("keydown", (event) => {
    const by = { "+": 1.4, "=": 1.4, "-": 0.7, 0: 0 }[event.key];
    if (by === undefined || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    zoom(by);
  });
  startDragging(drawing, (dx, dy) => {
    const box = drawing.getBoundingClientRect();
    x -= (dx * width) / scale / box.width;
    y -= (dy * height) / scale / box.height;
    show();
  });
}

// A click that has moved was no click: `data-dragged` tells the others until it is over.
function startDragging(drawing, move) {
  let from = null;
  drawing.addEventListener("pointerdown", (event) => {
    delete drawing.dataset.dragged;
    if (drawing.classList.contains("zoomed") && event.button === 0) from = [event.clientX, event.clientY];
  });
  drawing.addEventListener("pointermove", (event) => {
    if (!from) return;
    const [dx, dy] = [event.clientX - from[0], event.clientY - from[1]];
    if (!drawing.dataset.dragged && Math.hypot(dx, dy) < DRAG_PIXELS) return;
    if (!drawing.dataset.dragged) drawing.setPointerCapture(event.pointerId);
    drawing.dataset.dragged = "yes";
    drawing.classList.add("dragged");
    from = [event.clientX, event.clientY];
    move(dx, dy);
  });
  for (const end of ["pointerup", "pointercancel"]) {
    drawing.addEventListener(end, () => {
      from = null;
      drawing.classList.remove("dragged");
    });
  }
  drawing.addEventListener("dragstart", (event) => event.preventDefault());
}
