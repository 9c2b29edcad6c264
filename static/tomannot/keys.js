// Keys of the list of stories, of one story and of the review page. The pages work without this file.
(() => {
  "use strict";

  const setting = document.querySelector("[data-keys]");
  if (!setting) return;
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

  const typing = "input:not([type=checkbox]), textarea, select, [contenteditable]";

  function onKey(react) {
    document.addEventListener("keydown", (event) => {
      if (!keys.checked || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
      if (!event.target.closest(typing)) react(event);
    });
  }

  function review(form) {
    const reason = form.elements.reason;

    // Enter in the reason field would press the first button and accept an answer about to be rejected.
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

    onKey((event) => {
      if (event.repeat) return;
      const button = form.querySelector(`button[data-key="${CSS.escape(event.key)}"]`);
      if (button || event.key === "4") event.preventDefault();
      if (event.key === "4") reason.focus();
      button?.click();
    });
  }

  function stories() {
    const rows = [...document.querySelectorAll("[data-stories] > li")];
    const current = () => rows.findIndex((row) => row.contains(document.activeElement));

    function go(step) {
      if (!rows.length) {
        document.querySelector(`main a[rel="${step > 0 ? "next" : "prev"}"]`)?.click();
        return;
      }
      const row = rows[Math.min(Math.max(current() + step, 0), rows.length - 1)];
      row.querySelector("a").focus({ preventScroll: true });
      row.scrollIntoView({ block: "nearest" });
    }

    onKey((event) => {
      const key = event.key.toLowerCase();
      if (key === "j" || key === "k") go(key === "j" ? 1 : -1);
      if (key === "x" && !event.repeat) rows[current()]?.querySelector("input")?.click();
    });
  }

  const form = document.querySelector("[data-review]");
  if (form) review(form);
  else stories();
})();
