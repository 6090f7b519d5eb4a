"use strict";
// The page of explained wake-ups: functions over time.
(() => {
  // An explained wake-up: a click magnifies a function, one beside the boxes goes back, and functions can be searched.
  const shown = (element, is) => (is ? element.removeAttribute("display") : element.setAttribute("display", "none"));
  const icicle = (svg, search) => {
    const boxes = [...svg.querySelectorAll("g.call")].map((group) => {
      const [path, text] = [group.querySelector("path"), group.querySelector("text")];
      const [left, top, right, bottom] = path.getAttribute("d").match(/[\d.]+/g).map(Number);
      return { group, path, text, left, top, right, bottom, name: group.dataset.name, from: Number(group.dataset.from), of: Number(group.dataset.of) };
    });
    if (!boxes.length) return;
    const [low, high] = [Math.min(...boxes.map((box) => box.left)), Math.max(...boxes.map((box) => box.right))];
    const show = (from, of) => {
      svg.querySelectorAll("g.axis, .part, text.soft").forEach((part) => shown(part, of === null));
      for (const box of boxes) {
        const at = (instruction) => low + ((instruction - from) / of) * (high - low);
        const [left, right] = of === null ? [box.left, box.right] : [Math.max(low, at(box.from)), Math.min(high, at(box.from + box.of))];
        shown(box.group, right - left >= 0.08);
        box.path.setAttribute("d", `M${left} ${box.top}H${right}V${box.bottom}H${left}Z`);
        const room = Math.floor((right - left - 6) / 6);
        if (room >= 3 && !box.text) {
          box.text = document.createElementNS("http://www.w3.org/2000/svg", "text");
          box.text.setAttribute("y", box.top + 12);
          box.group.append(box.text);
        }
        if (!box.text) continue;
        box.text.setAttribute("x", left + 3);
        box.text.textContent = room < 3 ? "" : box.name.length > room ? box.name.slice(0, room - 1) + "…" : box.name;
      }
    };
    svg.addEventListener("click", (event) => {
      const box = boxes.find((one) => one.group.contains(event.target));
      if (box) show(box.from, box.of);
      else show(0, null);
    });
    search.addEventListener("input", () => {
      const wanted = search.value.trim().toLowerCase();
      boxes.forEach((box) => box.group.classList.toggle("found", wanted !== "" && box.name.toLowerCase().includes(wanted)));
    });
  };
  for (const element of document.querySelectorAll("figure")) {
    const svgs = element.querySelectorAll("svg[data-kind='icicle']");
    if (!svgs.length) continue;
    const search = Object.assign(document.createElement("input"), { type: "search", placeholder: "Search functions" });
    search.setAttribute("aria-label", "Search functions");
    element.prepend(search);
    svgs.forEach((svg) => icicle(svg, search));
  }
})();
