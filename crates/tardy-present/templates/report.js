"use strict";
// Shows the values under the pointer on plots with data attributes for their scales. Optional.
(() => {
  const parse = (text) => {
    const [kind, low, high, from, to] = text.split(" ");
    const [a, b, p, q] = [low, high, from, to].map(Number);
    return (at) => {
      const share = Math.min(1, Math.max(0, (at - p) / (q - p)));
      return kind === "log" ? a * Math.pow(b / a, share) : a + share * (b - a);
    };
  };
  const digits = (value) => Number(value.toPrecision(3)).toLocaleString("en-GB", { maximumSignificantDigits: 3 });
  const latency = (ns) => digits(ns / 1e3) + " µs";
  const time = (ns) => digits(ns / 1e9) + " s";
  const words = {
    latency: (x, y) => latency(x) + " · " + digits(y),
    exceedance: (x, y) => "1 in " + digits(1 / y) + " at least " + latency(x),
    timeline: (x, y) => time(x) + (y === null ? "" : " · " + latency(y)),
    heat: (x, y) => time(x) + " · " + latency(y),
  };
  const make = (name, parent, attributes) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    parent.appendChild(element);
    return element;
  };
  for (const svg of document.querySelectorAll("svg[data-kind]")) {
    const [x, y] = [parse(svg.dataset.x), parse(svg.dataset.y)];
    const [left, right] = svg.dataset.x.split(" ").slice(3).map(Number);
    const [bottom, top] = svg.dataset.y.split(" ").slice(3).map(Number);
    const height = svg.viewBox.baseVal.height;
    const foot = svg.dataset.kind === "timeline" ? height - 22 : bottom;
    let cross = null;
    const clear = () => { if (cross) { cross.remove(); cross = null; } };
    svg.addEventListener("pointerleave", clear);
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      const px = (event.clientX - box.left) * svg.viewBox.baseVal.width / box.width;
      const py = (event.clientY - box.top) * height / box.height;
      clear();
      if (px < left || px > right || py < top || py > foot) return;
      cross = make("g", svg, { class: "readout" });
      make("line", cross, { class: "axis", x1: px, x2: px, y1: top, y2: foot });
      const inside = py <= bottom;
      if (inside) make("line", cross, { class: "axis", x1: left, x2: right, y1: py, y2: py });
      const end = px > (left + right) / 2;
      const text = make("text", cross, { class: "halo", x: px + (end ? -6 : 6), y: Math.max(py - 6, top + 10), "text-anchor": end ? "end" : "start" });
      text.textContent = words[svg.dataset.kind](x(px), inside ? y(py) : null);
    });
  }
  // Everything is unfolded for printing, except the CPUs that are not among the worst.
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open]):not(.folded-cpus)")];
    for (const details of folded) details.open = true;
  });
  addEventListener("afterprint", () => { for (const details of folded) details.open = false; });
  // A link to a folded run unfolds it.
  const unfold = () => {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    if (target && target.tagName === "DETAILS") target.open = true;
  };
  addEventListener("hashchange", unfold);
  unfold();
})();
