// Copy buttons. Without this script they stay hidden, and the text beside them can be selected.
// The page may be swapped by htmx at any time, so nothing is bound to an element.
"use strict";

if (navigator.clipboard) {
  document.documentElement.classList.add("can-copy");
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent.trim());
    button.textContent = button.dataset.copied;
  });
}
