// Keys, focus and status on the pages people annotate on. Every page works without this file.
(() => {
  "use strict";

  const one = (selector, root = document) => root.querySelector(selector);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const hide = (element, hidden) => element && (element.hidden = hidden);

  // Keys can be switched off (WCAG 2.1.4). Storage may be blocked inside another site's frame.
  const setting = one("[data-keys]");
  const keys = setting && one("input", setting);
  const showKeys = () => document.documentElement.classList.toggle("no-keys", !keys.checked);
  if (keys) {
    try {
      keys.checked = localStorage.getItem("keys") !== "off";
    } catch {}
    keys.onchange = () => {
      showKeys();
      try {
        localStorage.setItem("keys", keys.checked ? "on" : "off");
      } catch {}
    };
    showKeys();
    setting.hidden = false;
  }

  // Arrows on an answer choose among the answers, as everywhere. Only where our own keys have put the
  // focus do they go from question to question, so that nobody changes an answer by going back.
  let placed;
  const goTo = (row) => {
    placed = row ? one("input:checked", row) || one("input", row) : one("[data-answers] [type=submit]");
    placed.focus({ preventScroll: true });
    // A question and the part of the story above it belong together on the screen.
    (row?.closest("[data-question]") ?? placed).scrollIntoView({ block: "nearest" });
  };
  const leavePlace = ({ target }) => target !== placed && (placed = null);
  document.addEventListener("focusin", leavePlace);
  document.addEventListener("change", () => (placed = null));

  const move = (rows, target, step) => {
    const row = rows.indexOf(target.closest("[data-row]"));
    const here = target.matches("[type=submit]") ? rows.length : row;
    const missing = rows.findIndex((other) => !one("input:checked", other));
    // Somebody who is at no question is at the first open one; of a complete form, before it or behind it.
    const outside = step > 0 ? Math.max(missing, 0) : (missing < 0 ? rows.length : missing) - 1;
    const goal = here < 0 ? outside : here + step;
    if (goal >= 0 && goal <= rows.length) goTo(rows[goal]);
  };

  // The instructions open above the story, or beside it where there is room (tomannot.css), at the examples
  // of the question at hand, and lead back to it.
  const panel = one(".panel");
  const beside = matchMedia("(min-width: 70rem)");
  let before;
  const openInstructions = (target) => {
    const focus = document.activeElement;
    before = { focus, top: scrollY, placed: focus === placed };
    const examples = all("details", panel)[all("[data-question]").indexOf(target.closest("[data-question]"))];
    if (examples) examples.open = true;
    panel.open = true;
    one("summary", examples ?? panel).focus({ preventScroll: true });
    if (beside.matches) panel.scrollTo(0, examples?.offsetTop ?? 0);
    else (examples ?? panel).scrollIntoView();
  };
  const closeInstructions = () => {
    const inside = panel.contains(document.activeElement);
    panel.open = false;
    if (inside && before) {
      document.activeElement.blur();
      placed = before.placed ? before.focus : null;
      before.focus.focus({ preventScroll: true });
      scrollTo(0, before.top);
    } else if (inside) one("summary", panel).focus();
    before = null;
  };
  // Closed by mouse, nobody is led back any more.
  panel?.addEventListener("toggle", () => panel.open || (before = null));

  const BACK = document.documentElement.dir === "rtl" ? "ArrowRight" : "ArrowLeft";
  const STEPS = { Backspace: -1, ArrowUp: -1, ArrowDown: 1, ArrowLeft: 1, ArrowRight: 1, [BACK]: -1 };
  const CHOOSES = "input, textarea, select, [contenteditable]";

  document.addEventListener("keydown", (event) => {
    const { key, target } = event;
    const form = one("[data-answers]");
    if (!form || event.repeat || event.ctrlKey || event.altKey || event.metaKey) return;
    if (key === "Escape" && panel?.open) return closeInstructions();
    if (!keys?.checked || target.closest("textarea, select, [contenteditable], input:not([type=radio])")) return;
    const rows = all("[data-row]", form);
    const missing = rows.filter((row) => !one("input:checked", row));
    const question = target.closest("[data-question]");
    const own = question ? all("[data-row]", question) : missing;
    const row = target.closest("[data-row]") ?? own.find((one) => missing.includes(one)) ?? own[0];

    if (key === "?" && panel) {
      event.preventDefault();
      panel.open ? closeInstructions() : openInstructions(target);
    } else if (target.closest(".panel") || (event.shiftKey && (key in STEPS || key === "Enter"))) {
      return; // the instructions are for reading, and selections are not ours; some keyboards shift for digits
    } else if (key === "Enter") {
      // On a radio, a button or a link the browser itself does the right thing.
      if (target.closest("input, button, a, summary")) return;
      event.preventDefault();
      missing.length ? goTo(missing[0]) : form.requestSubmit();
    } else if (key in STEPS) {
      // Elsewhere up and down scroll the page.
      if (target !== placed && key !== "Backspace" && (target.matches(CHOOSES) || /Up|Down/.test(key))) return;
      event.preventDefault();
      move(rows, target, STEPS[key]);
    } else {
      const input = row && one(`[data-key="${CSS.escape(key)}"]`, row);
      if (!input) return;
      event.preventDefault();
      input.click();
      const next = missing.filter((other) => other !== row);
      goTo(next.find((other) => rows.indexOf(other) > rows.indexOf(row)) ?? next[0]);
    }
  });

  const arrive = () => {
    // Times come in UTC; people read them on their own clock.
    for (const time of all("time[data-local]")) {
      const { local } = time.dataset;
      const style = { hour: "2-digit", minute: "2-digit" };
      if (local !== "minutes") style.second = "2-digit";
      if (local === "day") Object.assign(style, { year: "numeric", month: "long", day: "numeric" });
      time.textContent = new Date(time.dateTime).toLocaleString(document.documentElement.lang, style);
    }
    return one("#work [role=alert]:not([hidden])");
  };

  // A second press must not send a second form. The server would not count it twice either.
  document.addEventListener("submit", ({ target }) => {
    if (target.matches("[hx-post]")) return;
    setTimeout(() => all("[type=submit]", target).forEach((button) => (button.disabled = true)));
  });
  addEventListener("pageshow", () => all("[type=submit]").forEach((button) => (button.disabled = false)));

  document.addEventListener("htmx:beforeRequest", () => hide(one("[data-not-saved]"), true));
  // A refusal or an incomplete form brings a page of its own: show it, whatever its status.
  document.addEventListener("htmx:beforeSwap", ({ detail }) => {
    // Anything else is not from us (a sign-in page of the network, say): the form stays, as not saved.
    detail.shouldSwap = detail.xhr.responseText.includes('id="work"');
    detail.isError = !detail.shouldSwap;
    hide(one("[data-not-saved]"), detail.shouldSwap);
  });
  document.addEventListener("htmx:afterSwap", () => {
    if (panel && !beside.matches) panel.open = false;
    before = null;
    const heading = one("#work h1");
    document.title = document.title.replace(/^.*?(?= · )/s, () => heading.textContent.trim());
    (arrive() ?? heading).focus({ preventScroll: true });
    scrollTo(0, 0);
    one("#status").textContent = one("#work .receipt")?.textContent ?? "";
  });
  for (const failure of ["sendError", "responseError", "timeout"]) {
    document.addEventListener(`htmx:${failure}`, () => hide(one("[data-not-saved]"), false));
  }

  addEventListener("beforeprint", () => all("details").forEach((part) => (part.open = true)));
  arrive()?.focus();
})();
