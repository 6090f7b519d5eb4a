"use strict";
// Asks the page as a reader would, and leaves the answers in an element at its end, as JSON.
(() => {
  const answers = {};
  const svg = (plot) => document.getElementById(`run1-${plot}-wide`);
  const figure = (plot) => svg(plot).closest("figure");
  const button = (plot, text) => [...figure(plot).querySelectorAll(".ask button")].find((one) => one.textContent === text);
  const axis = (plot, name) => {
    const [kind, low, high, from, to] = svg(plot).dataset[name].split(" ");
    return { log: kind === "log", low: Number(low), high: Number(high), from: Number(from), to: Number(to) };
  };
  const valueAt = ({ log, low, high, from, to }, at) => {
    const share = (at - from) / (to - from);
    return log ? low * Math.pow(high / low, share) : low + share * (high - low);
  };
  const event = (plot, name, x, y, more = {}) => {
    const box = svg(plot).getBoundingClientRect();
    const scale = box.width / svg(plot).viewBox.baseVal.width;
    svg(plot).dispatchEvent(new PointerEvent(name, { clientX: box.left + x * scale, clientY: box.top + y * scale, bubbles: true, ...more }));
  };
  const texts = (plot) => [...svg(plot).querySelectorAll(".readout text")].map((text) => text.textContent);
  const at = (plot, x, y = 60) => {
    event(plot, "pointermove", x, y);
    return { x: valueAt(axis(plot, "x"), x), y: valueAt(axis(plot, "y"), y), texts: texts(plot) };
  };
  const along = (plot, y) => {
    const { from, to } = axis(plot, "x");
    // A third of a pixel beside the grid, where no edge is.
    return Array.from({ length: 60 }, (_, place) => at(plot, from + 1.3 + ((to - from - 3) * place) / 60, y));
  };
  const enter = (plot, place, value) => {
    const input = figure(plot).querySelectorAll("input[type=number]")[place];
    input.value = value;
    input.dispatchEvent(new Event("change", { bubbles: true }));
  };
  const ticks = (plot) => [...svg(plot).querySelectorAll("text")].filter((text) => text.getClientRects().length && !text.closest("[display=none]")).map((text) => text.textContent);
  const curves = (plot, name) => [...svg(plot).querySelectorAll(`path.curve.${name}`)].filter((path) => !path.closest("[display=none]") && !path.closest("g.panel")).length;
  const rows = () => [...document.querySelectorAll(".span tbody tr")].map((row) => [...row.children].map((cell) => cell.textContent));
  const plots = ["latency", "exceedance", "timeline", "heat"];
  const original = Object.fromEntries(plots.map((plot) => [plot, svg(plot).innerHTML]));
  const isOriginal = () => plots.filter((plot) => svg(plot).innerHTML !== original[plot]);
  const clear = () => plots.forEach((plot) => event(plot, "pointerleave", 0, 0));

  answers.latency = along("latency");
  answers.exceedance = along("exceedance");
  answers.timeline = along("timeline", 100);
  answers.panel = at("timeline", 300, axis("timeline", "y").from + 60).texts;
  answers.heat = [80, 140, 200, 225, 228].flatMap((y) => along("heat", y));
  clear();
  answers.changedByReading = isOriginal();

  const toggle = figure("latency").querySelector(".curve-of");
  const before = ["latency", "exceedance", "timeline"].map((plot) => curves(plot, "s0"));
  toggle.click();
  answers.hidden = { label: toggle.textContent, pressed: toggle.getAttribute("aria-pressed"), before, after: ["latency", "exceedance", "timeline"].map((plot) => curves(plot, "s0")), others: curves("latency", "s1"), texts: at("exceedance", 120).texts };
  toggle.click();
  clear();
  answers.changedByToggling = isOriginal();

  answers.axes = {};
  for (const [plot, name] of [["latency", "logarithmic latency"], ["latency", "logarithmic counts"], ["exceedance", "logarithmic latency"], ["exceedance", "logarithmic shares"], ["timeline", "logarithmic latency"]]) {
    button(plot, name).click();
    const drawn = svg(plot).innerHTML;
    answers.axes[`${plot}, ${name}`] = { pressed: button(plot, name).getAttribute("aria-pressed"), ticks: ticks(plot), bad: /NaN|Infinity|undefined/.test(drawn), changed: drawn !== original[plot] };
    button(plot, name).click();
  }
  answers.changedByAxes = isOriginal();

  enter("latency", 0, 20);
  enter("latency", 1, 60);
  answers.zoomed = { ticks: ticks("latency"), at: at("latency", axis("latency", "x").from + 200).texts };
  button("latency", "reset").click();
  clear();
  // Dragged, from 100 to 300 pixels.
  event("latency", "pointerdown", 100, 100);
  event("latency", "pointermove", 200, 100);
  event("latency", "pointermove", 300, 100);
  event("latency", "pointerup", 300, 100);
  answers.dragged = [...figure("latency").querySelectorAll("input[type=number]")].map((input) => Number(input.value) * 1e3);
  answers.expectedOfDrag = [100, 300].map((x) => valueAt(axis("latency", "x"), x));
  svg("latency").dispatchEvent(new MouseEvent("dblclick"));
  clear();
  answers.changedByZoom = isOriginal();

  const slider = figure("latency").querySelector("input[type=range]");
  slider.value = 100;
  slider.dispatchEvent(new Event("input"));
  answers.slider = { text: slider.getAttribute("aria-valuetext"), shown: texts("latency").join("; ") };
  slider.dispatchEvent(new Event("blur"));
  answers.afterSlider = texts("latency");

  enter("timeline", 0, 10.5);
  enter("timeline", 1, 19.5);
  answers.span = { status: figure("timeline").querySelector("[role=status]").textContent, rows: rows(), drawn: document.querySelectorAll(".span svg path.curve").length, marked: ["timeline", "heat"].map((plot) => svg(plot).querySelectorAll(".chosen").length) };
  button("timeline", "zoom").click();
  answers.zoomedTime = { timeline: ticks("timeline"), heat: ticks("heat") };
  window.dispatchEvent(new Event("beforeprint"));
  clear();
  answers.changedInPrint = isOriginal();
  window.dispatchEvent(new Event("afterprint"));
  answers.afterPrint = isOriginal();
  button("timeline", "reset").click();
  answers.changedBySpan = isOriginal();
  answers.spansLeft = document.querySelectorAll(".span").length;

  const result = document.createElement("script");
  result.type = "application/json";
  result.id = "answers";
  result.textContent = JSON.stringify(answers);
  document.body.appendChild(result);
})();
