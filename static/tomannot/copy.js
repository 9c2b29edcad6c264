// Copy buttons. Without this script they stay hidden, and the text beside them can be selected.
// The page may be swapped by htmx at any time, so nothing is bound to an element.
"use strict";

const COPIED_FOR = 3000; // milliseconds until a button says again what it does

if (navigator.clipboard) {
  document.documentElement.classList.add("can-copy");
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const text = document.getElementById(button.dataset.copy);
    const label = (button.dataset.label ??= button.textContent);
    try {
      await navigator.clipboard.writeText(text.textContent.trim());
    } catch {
      getSelection().selectAllChildren(text); // forbidden here, in a frame for example: left to the keys
      return;
    }
    button.textContent = button.dataset.copied;
    setTimeout(() => (button.textContent = label), COPIED_FOR);
  });
}
