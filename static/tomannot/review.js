// Keys on the page where an answer is judged. The page works without this file.
(() => {
  "use strict";

  const form = document.querySelector("[data-review]");
  if (!form) return;
  const reason = form.elements.reason;
  const setting = document.querySelector("[data-keys]");
  const keys = setting.querySelector("input");
  const show = () => document.documentElement.classList.toggle("no-keys", !keys.checked);

  // Keys can be switched off (WCAG 2.1.4), here and on the annotators' pages alike.
  try {
    keys.checked = localStorage.getItem("keys") !== "off";
  } catch {}
  keys.onchange = () => {
    show();
    try {
      localStorage.setItem("keys", keys.checked ? "on" : "off");
    } catch {}
  };
  show();
  setting.hidden = false;

  // Enter in the reason would press the first button, and accept what somebody is about to reject.
  let wanted;
  reason.addEventListener("keydown", (event) => {
    if (event.key === "Escape") reason.blur();
    if (event.key !== "Enter") return;
    event.preventDefault();
    if (wanted && reason.value.trim()) wanted.click();
  });

  form.addEventListener("submit", (event) => {
    const missing = event.submitter?.hasAttribute("data-needs-reason") && !reason.value.trim();
    if (missing) {
      event.preventDefault();
      wanted = event.submitter;
      reason.focus();
    }
  });

  document.addEventListener("keydown", (event) => {
    if (!keys.checked || event.repeat || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
    if (event.target.closest("input:not([type=checkbox]), textarea, select, [contenteditable]")) return;
    if (event.key === "4") {
      event.preventDefault();
      reason.focus();
    }
    const button = form.querySelector(`button[data-key="${CSS.escape(event.key)}"]`);
    if (button) {
      event.preventDefault();
      button.click();
    }
  });
})();
