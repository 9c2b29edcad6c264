// Copy buttons. Without this script they stay hidden, and the text can be selected.
// htmx may swap the page at any time, so listeners are on the document.
"use strict";

const COPIED_FOR = 3000; // milliseconds until the button's label returns

if (navigator.clipboard) {
  document.documentElement.classList.add("can-copy");
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const text = document.getElementById(button.dataset.copy);
    const label = (button.dataset.label ??= button.textContent);
    try {
      await navigator.clipboard.writeText(text.innerText.trim());
    } catch {
      getSelection().selectAllChildren(text); // forbidden, for example in a frame: select the text instead
      return;
    }
    button.textContent = button.dataset.copied;
    setTimeout(() => (button.textContent = label), COPIED_FOR);
  });
}
