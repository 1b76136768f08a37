// A part wider than the page stops the tab key, and shows that it goes on; any other does neither.

function watchWidths() {
  const sizes = new ResizeObserver((entries) => {
    for (const { target } of entries) mark(target.closest(".scroll"));
  });
  for (const region of document.querySelectorAll(".scroll")) {
    sizes.observe(region);
    sizes.observe(region.firstElementChild);
    region.addEventListener("scroll", () => mark(region), { passive: true });
  }
}

function mark(region) {
  const hidden = region.scrollWidth - region.clientWidth;
  if (hidden > 1) region.tabIndex = 0;
  else region.removeAttribute("tabindex");
  region.classList.toggle("goes-on", hidden - region.scrollLeft > 1);
}
