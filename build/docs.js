// On narrow pages, only a mouse or a finger opens the menu, which covers the text. This script lets a key open it and focuses its first link. Escape closes it.
const button = document.getElementById("tsd-toolbar-menu-trigger");
/** Simulates the mouse or, on a touch screen, the finger that typedoc listens for. */
const act = (element, ...types) => {
  for (const type of types) element.dispatchEvent(new Event(type, { bubbles: true, cancelable: true }));
};
button.addEventListener("click", ({ detail }) => {
  // A click from the keyboard has no click count.
  if (detail !== 0) return;
  act(button, "mouseup", "touchend");
  document.getElementById("navigation").focus();
});
addEventListener("keydown", ({ key }) => {
  if (key !== "Escape" || !document.documentElement.classList.contains("has-menu")) return;
  act(document.body, "mousedown", "touchstart");
  button.focus();
});
