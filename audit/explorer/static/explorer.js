// What is better with a script: keys that walk, and a button that copies.

document.documentElement.classList.add("scripted");

addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || event.target.closest("input, select, textarea, [tabindex='0']")) return;
  const to = { ArrowLeft: "prev", ArrowRight: "next" }[event.key];
  if (to && location.pathname.endsWith("/instance")) document.querySelector(`.pager a[rel="${to}"]`)?.click();
  if (event.key === "/") {
    document.querySelector("[type='search']")?.focus();
    event.preventDefault();
  }
});

for (const text of document.querySelectorAll("[data-copy]")) {
  const told = element("output", {}, "");
  const button = element("button", { type: "button" }, "Copy");
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(text.value);
    told.textContent = " Copied.";
  });
  text.closest("label").after(element("p", { class: "controls" }, button, told));
}
