// On narrow pages, only a mouse or a finger opens the menu, which covers the text. This script lets a key open it and focuses its first link; Escape closes it.
const button = document.getElementById("tsd-toolbar-menu-trigger");
/** Acts as the mouse, or on a touch screen as the finger, for which typedoc listens. */
const act = (element, ...types) => {
  for (const type of types) element.dispatchEvent(new Event(type, { bubbles: true, cancelable: true }));
};
button.addEventListener("click", ({ detail }) => {
  // A click by keyboard has no count of clicks.
  if (detail !== 0) return;
  act(button, "mouseup", "touchend");
  document.getElementById("navigation").focus();
});
addEventListener("keydown", ({ key }) => {
  if (key !== "Escape" || !document.documentElement.classList.contains("has-menu")) return;
  act(document.body, "mousedown", "touchstart");
  button.focus();
});
