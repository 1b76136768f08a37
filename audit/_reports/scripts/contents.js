// The contents say where one reads.

function followReading() {
  const links = [...document.querySelectorAll(".contents a")];
  const sections = links.map((link) => document.querySelector(link.hash));
  const follow = () => {
    const here = sections.indexOf(sectionRead(sections));
    links.forEach((link, place) => {
      if (place === here) link.setAttribute("aria-current", "location");
      else link.removeAttribute("aria-current");
    });
  };
  for (const moved of ["scroll", "resize", "hashchange"]) addEventListener(moved, follow, { passive: true });
  follow();
}

// The last section that begins in the upper tenth of the window or above it, else the first. At
// the end of the page, where the last ones cannot come so far up: the one asked for, else the last.
function sectionRead(sections) {
  const top = (section) => section.getBoundingClientRect().top;
  const page = document.documentElement;
  if (page.scrollTop > 0 && page.scrollTop + page.clientHeight >= page.scrollHeight - 2) {
    const asked = sections.find((section) => `#${section.id}` === location.hash);
    return asked && top(asked) >= 0 ? asked : sections.at(-1);
  }
  return sections.findLast((section) => top(section) <= page.clientHeight / 10) ?? sections[0];
}
