// An element by its tag, its attributes and what stands in it.
function element(tag, attributes, ...content) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...content);
  return made;
}

// A field to search with, under its label; `heard` is called with each change.
function searchField(label, heard) {
  const field = element("input", { type: "search", autocomplete: "off", spellcheck: "false" });
  field.addEventListener("input", heard);
  return { field, label: element("label", {}, label, field) };
}

// Text as it is searched and sorted: one line, in small letters.
function plain(text) {
  return text.replace(/\s+/g, " ").trim().toLowerCase();
}

// Whether each of the words typed stands in a text.
function hasWords(text, typed) {
  return plain(typed).split(" ").every((word) => text.includes(word));
}
