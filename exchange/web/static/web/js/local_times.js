// Moments in the person's own time zone, UTC on hover. Without a script the page says them in UTC.

function two(number) {
  return String(number).padStart(2, "0");
}

function dayOf(moment) {
  return `${moment.getFullYear()}-${two(moment.getMonth() + 1)}-${two(moment.getDate())}`;
}

function minuteOf(moment) {
  return `${dayOf(moment)} ${two(moment.getHours())}:${two(moment.getMinutes())}`;
}

export function showLocalTimes(root) {
  for (const element of root.querySelectorAll("time[data-local]")) {
    const moment = new Date(element.dateTime);
    element.textContent = element.dataset.local === "day" ? dayOf(moment) : minuteOf(moment);
  }
}

// Flights are set in UTC, the same for everybody who edits them: beside it stands one's own time.
export function startOwnTimes() {
  for (const input of document.querySelectorAll("input[data-utc]")) {
    const hint = document.createElement("p");
    hint.className = "help";
    const show = () => {
      const moment = new Date(`${input.value}Z`);
      const isNews = input.value && moment.getTimezoneOffset() !== 0;
      hint.textContent = isNews ? `${minuteOf(moment)} in your time zone` : "";
    };
    input.after(hint);
    input.addEventListener("input", show);
    show();
  }
}
