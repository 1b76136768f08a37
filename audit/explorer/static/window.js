// What is better with a script: keys that walk, and a button that copies.
"use strict";

addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || event.target.closest("input, select, textarea, [tabindex='0']")) return;
  const to = { ArrowLeft: "prev", ArrowRight: "next" }[event.key];
  if (to) document.querySelector(`.pager a[rel="${to}"]`)?.click();
  if (event.key === "/") {
    document.querySelector("[type='search']")?.focus();
    event.preventDefault();
  }
});

for (const text of document.querySelectorAll("[data-copy]")) {
  const button = Object.assign(document.createElement("button"), { type: "button", textContent: "Copy" });
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(text.value);
    button.textContent = "Copied";
  });
  text.closest("label").after(button);
}
