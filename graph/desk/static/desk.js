// What the pages do beyond plain HTML: the reader's notation, keys, completions.
"use strict";

const notation = {
  number: new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 }),
  money: new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 }),
  decimal: new Intl.NumberFormat(undefined, { minimumFractionDigits: 2, maximumFractionDigits: 2 }),
  risk: new Intl.NumberFormat(undefined, { minimumFractionDigits: 2, maximumFractionDigits: 2, minimumSignificantDigits: 2, maximumSignificantDigits: 2, roundingPriority: "morePrecision" }),
  percent: new Intl.NumberFormat(undefined, { style: "percent", minimumFractionDigits: 1, maximumFractionDigits: 1 }),
};
const dates = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const days = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });

function localise(root) {
  for (const one of root.querySelectorAll("data[data-kind]")) {
    const value = Number(one.value);
    if (Number.isFinite(value)) one.textContent = notation[one.dataset.kind].format(value);
  }
  for (const one of root.querySelectorAll("time[datetime]")) {
    const notation = one.dataset.kind === "day" ? days : dates;
    one.textContent = notation.format(new Date(one.dateTime));
  }
}

document.addEventListener("DOMContentLoaded", () => localise(document));
document.addEventListener("htmx:afterSwap", (event) => localise(event.detail.target));
document.addEventListener("htmx:oobAfterSwap", (event) => localise(event.detail.target));

// A completion takes the place of what was typed; the rule is tried again.
document.addEventListener("click", (event) => {
  const chip = event.target.closest("[data-insert]");
  const rule = document.getElementById("rule");
  if (!chip || !rule) return;
  event.preventDefault(); // of a link, which works without scripts too
  rule.value = chip.dataset.insert;
  rule.focus({ preventScroll: true });
  rule.dispatchEvent(new Event("input", { bubbles: true }));
});

// Alt and a letter press the button that names the letter.
document.addEventListener("keydown", (event) => {
  if (!event.altKey || event.ctrlKey || event.metaKey) return;
  const button = document.querySelector(`button[data-key="${CSS.escape(event.key.toLowerCase())}"]`);
  if (!button) return;
  event.preventDefault();
  button.form.requestSubmit(button);
});
