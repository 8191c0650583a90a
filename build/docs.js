// On narrow pages the menu covers the text: whoever opens it with a key comes to its first link, and Escape closes it.
const button = document.getElementById("tsd-toolbar-menu-trigger");
const isOpen = () => document.documentElement.classList.contains("has-menu");
button.addEventListener("click", () => setTimeout(() => isOpen() && document.getElementById("navigation").focus()));
addEventListener("keydown", ({ key }) => {
  if (key !== "Escape" || !isOpen()) return;
  button.click();
  button.focus();
});
