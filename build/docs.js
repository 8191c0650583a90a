// On narrow pages the menu covers the text: whoever opens it with a key comes to its first link, and Escape closes it.
const button = document.getElementById("tsd-toolbar-menu-trigger");
const isOpen = () => document.documentElement.classList.contains("has-menu");
let isClosing = false;
button.addEventListener("click", () => setTimeout(() => !isClosing && isOpen() && document.getElementById("navigation").focus()));
addEventListener("keydown", ({ key }) => {
  if (key !== "Escape" || !isOpen()) return;
  isClosing = true;
  button.click();
  // The menu lets go of the focus when it has moved away.
  setTimeout(() => {
    isClosing = false;
    button.focus();
  }, 600);
});
