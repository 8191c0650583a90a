// On narrow pages the menu opens for a mouse or a finger only, and covers the text. Here a key opens it and comes to its first link, and Escape closes it.
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
