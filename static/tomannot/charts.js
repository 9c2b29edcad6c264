// Draws the charts of a page and saves them as pictures. Without this script, their tables are shown.
// htmx swaps parts of pages, so figures are looked for after every swap.
(() => {
  "use strict";

  const PRINT = {
    ink: "#000", soft: "#444", line: "#ddd", paper: "#fff", mark: "#004488",
    range: ["#004488", "#994455", "#997700", "#555555", "#117755"], font: "Helvetica, Arial, sans-serif",
    columns: 2,
  };
  const NARROW = 480; // CSS pixels; below this width, legend entries are stacked
  const SHAPES = ["circle", "diamond", "triangle-up", "square", "cross"];
  const PIXELS_PER_PIXEL = 2; // of a saved PNG: sharp in print at half a column's width
  const REDRAWN = ["(prefers-color-scheme: dark)", "(forced-colors: active)"];

  const views = new Map(); // drawn figures
  const widths = new WeakMap(); // the width each view was drawn for

  // The page's current colours: light, dark, or forced.
  const pageTheme = (figure) => {
    const style = getComputedStyle(figure);
    const token = (name) => style.getPropertyValue(name).trim();
    return {
      ink: token("--ink"), soft: token("--ink-soft"), line: token("--hairline"), paper: "transparent",
      mark: token("--plot-1"), range: [1, 2, 3, 4, 5].map((number) => token(`--plot-${number}`)),
      font: style.fontFamily, columns: figure.clientWidth < NARROW ? 1 : 2,
    };
  };

  const configOf = ({ ink, soft, line, paper, mark, range, font, columns }) => ({
    aria: false, // the figure's sentence and table describe it
    background: paper,
    font,
    mark: { color: mark },
    rule: { color: mark },
    text: { color: ink, fontSize: 12 },
    style: { reference: { color: soft, stroke: soft } },
    range: { category: range, symbol: SHAPES },
    view: { stroke: null },
    axis: {
      labelColor: ink, titleColor: ink, labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal",
      gridColor: line, domainColor: soft, tickColor: soft, labelLimit: 0,
    },
    legend: {
      orient: "top", direction: "vertical", columns, labelColor: ink, labelFontSize: 12, labelLimit: 0,
      symbolSize: 90, symbolStrokeColor: ink,
    },
    title: {
      anchor: "start", frame: "group", color: ink, subtitleColor: soft, fontSize: 15, subtitleFontSize: 11,
      subtitlePadding: 4, offset: 14,
    },
  });

  // Numbers and months as the page's language writes them.
  const localeOf = (language) => {
    const names = (options, dates) => {
      const format = new Intl.DateTimeFormat(language, { ...options, timeZone: "UTC" });
      return dates.map((date) => format.format(date));
    };
    const months = Array.from({ length: 12 }, (_, month) => new Date(Date.UTC(2023, month, 1)));
    const days = Array.from({ length: 7 }, (_, day) => new Date(Date.UTC(2023, 0, 1 + day))); // from a Sunday on
    const parts = new Intl.NumberFormat(language).formatToParts(12345.6);
    const sign = (type) => parts.find((part) => part.type === type)?.value ?? "";
    return {
      number: {
        decimal: sign("decimal"), thousands: sign("group"), grouping: [3], currency: ["", ""],
        percent: language.startsWith("en") ? "%" : "\u00a0%",
      },
      time: {
        dateTime: "%x, %X", date: "%Y-%m-%d", time: "%H:%M:%S", periods: ["AM", "PM"],
        days: names({ weekday: "long" }, days), shortDays: names({ weekday: "short" }, days),
        months: names({ month: "long" }, months), shortMonths: names({ month: "short" }, months),
      },
    };
  };

  // The interpreter evaluates expressions without eval, which the security policy forbids.
  const viewOf = (spec, theme, options, changes = {}) => {
    const compiled = vegaLite.compile(spec, { config: configOf(theme) }).spec;
    return new vega.View(vega.parse({ ...compiled, ...changes }, null, { ast: true }), {
      expr: vegaInterpreter.expressionInterpreter,
      locale: localeOf(document.documentElement.lang || "en"),
      ...options,
    });
  };

  const specOf = (figure) => JSON.parse(figure.querySelector("script[type='application/json']").textContent);

  const draw = async (figure) => {
    const place = figure.querySelector("[data-drawing]");
    const { title, description, ...spec } = specOf(figure); // the page shows both already
    const sentence = place.getAttribute("aria-label");
    views.get(figure)?.finalize();
    views.set(figure, null);
    try {
      const theme = pageTheme(figure);
      // As wide as there is room, labels and all; Vega-Lite knows this only with a fixed height.
      const fit = { width: place.clientWidth, autosize: { type: "fit-x", contains: "padding" } };
      const view = viewOf(spec, theme, { renderer: "svg", container: place }, fit);
      views.set(figure, view);
      widths.set(view, place.clientWidth);
      await view.runAsync();
      // Vega marks it as a graphics document; expose it as one image with a label.
      place.setAttribute("role", "img");
      place.setAttribute("aria-label", sentence);
      place.removeAttribute("aria-roledescription");
      place.querySelector("svg").setAttribute("aria-hidden", "true");
      resized.observe(place);
      figure.querySelectorAll("[data-save]").forEach((button) => (button.hidden = false));
    } catch (error) {
      place.hidden = true;
      figure.querySelector("[data-failed]").hidden = false;
      console.error(error);
    }
  };

  const resized = new ResizeObserver((changes) => {
    for (const { target } of changes) {
      const view = views.get(target.closest("figure"));
      if (!view || !target.clientWidth || widths.get(view) === target.clientWidth) continue;
      widths.set(view, target.clientWidth);
      view.width(target.clientWidth).runAsync();
    }
  });

  const drawNew = () => {
    for (const [figure, view] of views) {
      if (figure.isConnected) continue;
      view?.finalize();
      resized.unobserve(figure.querySelector("[data-drawing]"));
      views.delete(figure);
    }
    document.querySelectorAll("figure.plot").forEach((figure) => views.has(figure) || draw(figure));
  };

  // Saved pictures are for paper: always light, with title and source.
  const pictures = {
    svg: async (view) => new Blob([await view.toSVG()], { type: "image/svg+xml" }),
    png: async (view) => {
      const canvas = await view.toCanvas(PIXELS_PER_PIXEL);
      return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
    },
  };

  const save = async (figure, kind) => {
    const view = viewOf({ ...specOf(figure), padding: 12 }, PRINT, { renderer: "none" });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await pictures[kind](view));
    link.download = `${figure.dataset.file}.${kind}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    view.finalize();
  };

  document.addEventListener("click", ({ target }) => {
    const button = target.closest("[data-save]");
    if (button) save(button.closest("figure"), button.dataset.save);
  });
  document.addEventListener("htmx:afterSettle", drawNew);
  for (const query of REDRAWN) {
    matchMedia(query).addEventListener("change", () => [...views.keys()].forEach(draw));
  }
  drawNew();
})();
