"use strict";
// What the page's plots show when they are asked: values under the pointer, single curves, other axes, a part of an axis, and
// the histogram of a span of time. The page is complete without it, and is printed as if it were not there.
(() => {
  // Numbers as the page prints them.
  const places = (value) => (Math.abs(value) < 9.995 ? 2 : Math.abs(value) < 99.95 ? 1 : 0);
  const grouped = (value, least, most) => value.toLocaleString("en-GB", { minimumFractionDigits: least, maximumFractionDigits: most }).replace("-", "−");
  const digits = (value) => grouped(value, 0, places(value));
  const count = (value) => value.toLocaleString("en-GB");
  const latency = (ns) => {
    const [factor, unit] = Math.abs(ns) >= 1e10 ? [1e9, "s"] : Math.abs(ns) >= 1e7 ? [1e6, "ms"] : [1e3, "µs"];
    return digits(ns / factor) + "\u00a0" + unit;
  };
  const units = [[180e9, 1e9, "s"], [10800e9, 60e9, "min"], [259200e9, 3600e9, "h"], [Infinity, 86400e9, "d"]];
  const timeUnit = (span) => units.find(([below]) => span < below);
  const time = (ns, span) => {
    const [, factor, unit] = timeUnit(span);
    const places = Math.max(0, Math.min(6, Math.ceil(-Math.log10(span / factor)) + 2));
    return Number((ns / factor).toFixed(places)) + "\u00a0" + unit;
  };
  const short = (value) => (value >= 1e9 ? digits(value / 1e9) + "G" : value >= 1e6 ? digits(value / 1e6) + "M" : digits(value));

  // The values of the plots: docs/adr/0023-a-report-that-answers.md.
  const numbers = (text, unit = 1) => (text ? text.split(" ").map((one) => (one === "-" ? null : parseInt(one, 36) * unit)) : []);
  const bins = (text) => {
    let [end, width] = [0, 0];
    return (text ? text.split(" ") : []).map((one) => {
      const parts = one.split(",");
      if (parts.length === 3) width = parts[1] === "" ? Infinity : parseInt(parts[1], 36);
      const low = end + (parts.length === 3 ? parseInt(parts[0], 36) : 0);
      end = low + width;
      return { low, high: end, count: parseInt(parts[parts.length - 1], 36) };
    });
  };
  const merged = (histograms) => {
    const all = new Map();
    for (const bin of histograms.flat()) all.set(bin.low, { ...bin, count: bin.count + (all.get(bin.low)?.count ?? 0) });
    return [...all.values()].sort((a, b) => a.low - b.low);
  };
  const total = (bins) => bins.reduce((sum, bin) => sum + bin.count, 0);
  // The highest value of the bin with the quantile, as the tables have it; null if there are too few values.
  const quantile = (bins, share) => {
    const values = total(bins);
    if (values < Math.ceil(1 / (1 - share) - 1e-6)) return null;
    let rank = Math.ceil(values * share - 1e-6);
    const bin = bins.find((one) => (rank -= one.count) <= 0);
    return bin.high === Infinity ? bin.low : bin.high - 1;
  };
  const parts = new Map();
  for (const script of document.querySelectorAll("script[type='application/json']")) {
    const data = JSON.parse(script.textContent);
    for (const curve of data.curves) {
      Object.assign(curve, { bins: bins(curve.bins), spans: curve.spans.map(bins), worst: numbers(curve.worst) });
    }
    const { maxima, heat, cpus } = data;
    data.lines = maxima ? maxima.lines : [];
    for (const phase of data.lines.flatMap((line) => line.phases)) phase.max = numbers(phase.max, maxima.unit);
    if (heat) heat.columns = heat.columns.map(([from, to, counts]) => ({ from, to, counts: numbers(counts) }));
    if (cpus) cpus.rows = cpus.rows.map(([label, max]) => ({ label, max: numbers(max, cpus.unit) }));
    parts.set(script.id.replace(/data$/, ""), { data, hidden: new Set(), zoom: null, span: null, figures: [] });
  }

  // Axes.
  const scale = (log, low, high, from, to) => {
    const share = (value) => (log ? Math.log(Math.max(value, low) / low) / Math.log(high / low) : (value - low) / (high - low));
    const inside = (part) => Math.min(1, Math.max(0, part));
    const at = (value) => from + inside(share(value)) * (to - from);
    const valueOf = (part) => (log ? low * Math.pow(high / low, part) : low + part * (high - low));
    const value = (px) => valueOf(inside((px - from) / (to - from)));
    return { log, low, high, from, to, at, value };
  };
  const parse = (text) => {
    const [kind, ...ends] = text.split(" ");
    return scale(kind === "log", ...ends.map(Number));
  };
  const nice = (value) => {
    const power = Math.pow(10, Math.floor(Math.log10(value)));
    return [1, 2, 5, 10].find((step) => step * power >= value * 0.999999) * power;
  };
  const multiples = (low, high, step) => {
    const ticks = [];
    for (let at = Math.ceil(low / step - 1e-9); at * step <= high * (1 + 1e-9); at += 1) ticks.push(at * step);
    return ticks;
  };
  const ticks = (axis, wanted) => {
    const decades = Math.log10(axis.high / axis.low);
    if (!axis.log) return multiples(axis.low, axis.high, nice((axis.high - axis.low) / wanted));
    const every = Math.ceil(decades / wanted);
    const found = [];
    for (let decade = Math.floor(Math.log10(axis.low) - 1e-9); decade <= Math.log10(axis.high) + 1e-9; decade += 1) {
      if (decade % every === 0) found.push(...(decades < 1.5 ? [1, 2, 5] : [1]).map((step) => step * Math.pow(10, decade)));
    }
    return found.filter((tick) => tick >= axis.low * 0.999999 && tick <= axis.high * 1.000001);
  };
  const timeTicks = ({ low, high }, wanted) => {
    const [, factor] = timeUnit(high - low);
    return multiples(low / factor, high / factor, nice((high - low) / factor / wanted)).map((tick) => tick * factor);
  };

  // Drawing.
  const svgNames = "http://www.w3.org/2000/svg";
  const fill = (element, parent, attributes, text) => {
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.textContent = text;
    return parent.appendChild(element);
  };
  const make = (name, parent, attributes, text = "") => fill(document.createElementNS(svgNames, name), parent, attributes, text);
  const px = (value) => Math.round(value * 10) / 10;
  const path = (parent, name, d) => d && make("path", parent, { class: name, d });
  const label = (parent, x, y, text, anchor = "start", name = "soft") => make("text", parent, { class: name, x: px(x), y: px(y), "text-anchor": anchor }, text);
  const horizontalGrid = (parent, x, y, wanted, words) => ticks(y, wanted).forEach((tick) => {
    path(parent, "grid", `M${x.from} ${px(y.at(tick))}H${x.to}`);
    label(parent, x.from - 6, y.at(tick) + 3.8, words(tick), "end");
  });
  // The latency axis, with the limit.
  const latencyAxis = (parent, x, y, [limit, name]) => {
    for (const tick of ticks(x, 8)) {
      path(parent, "grid", `M${px(x.at(tick))} ${y.to}V${y.from}`);
      label(parent, x.at(tick), y.from + 15, digits(tick / 1e3), "middle");
    }
    path(parent, "axis", `M${x.from} ${y.from}H${x.to}`);
    label(parent, x.to, y.from + 31, x.log ? "latency, µs, logarithmic" : "latency, µs", "end");
    if (!(limit > x.low && limit <= x.high)) return;
    const [at, isLast] = [x.at(limit), x.at(limit) + 60 > x.to];
    path(parent, "limit", `M${px(at)} ${y.to}V${y.from}`);
    label(parent, at + (isLast ? -4 : 4), y.to - 3, "limit " + name, isLast ? "end" : "start", "alarm halo");
  };
  // All CPUs together are drawn last, and those without a separate colour first.
  const order = (lines) => [...lines].sort((a, b) => (a.class === "pool") - (b.class === "pool") || (b.class === "rest") - (a.class === "rest"));
  const shown = (part, lines) => lines.filter((line) => !part.hidden.has(line.label));
  const names = (parent, x, top, lines) => lines.forEach((line, row) => label(parent, x, top + row * 14, line.label, "start", line.class === "rest" ? "soft" : line.class));

  // The columns of a histogram: powers of two of nanoseconds on a linear axis, sixteenths of an octave on a logarithmic one,
  // or recorded bins that are wider. No recorded bin is in two columns.
  const columnOf = (x, curves) => {
    const isInside = (bin) => bin.low < x.high && bin.high > x.low && bin.high !== Infinity;
    const inside = curves.flatMap((curve) => curve.bins).filter(isInside);
    const logarithmic = (bin) => {
      const width = Math.max(1, Math.pow(2, Math.floor(Math.log2(Math.max(bin.low, 1))) - 4));
      const low = Math.floor(bin.low / width) * width;
      return bin.high - bin.low > width ? [bin.low, bin.high] : [low, low + width];
    };
    if (x.log) return logarithmic;
    const widest = Math.max(1, ...inside.map((bin) => bin.high - bin.low));
    const least = Math.max((x.high - x.low) / 260, Math.min(widest, x.high - x.low));
    const power = Math.pow(2, Math.ceil(Math.log2(least)));
    const nests = inside.every((bin) => Math.floor(bin.low / power) === Math.floor((bin.high - 1) / power));
    const width = nests ? power : Math.ceil(least / widest) * widest;
    const column = (bin) => [Math.floor(bin.low / width) * width, (Math.floor(bin.low / width) + 1) * width];
    return Object.assign(column, { width });
  };
  const columns = (bins, x, column) => {
    const found = [];
    for (const bin of bins) {
      if (bin.low >= x.high || bin.high <= x.low || bin.high === Infinity) continue;
      const [low, high] = column(bin);
      const last = found[found.length - 1];
      if (last && last.low === low) last.count += bin.count;
      else found.push({ low, high, count: bin.count });
    }
    return found;
  };
  const histogram = (parent, part, curves, x, frame, logY) => {
    const column = columnOf(x, curves);
    const drawn = new Map(curves.map((curve) => [curve, columns(curve.bins, x, column)]));
    const most = Math.max(1, ...[...drawn.values()].flat().map((one) => one.count));
    const y = logY ? scale(true, 0.5, Math.max(most * 1.6, 10), frame.from, frame.to) : scale(false, 0, most * 1.05, frame.from, frame.to);
    horizontalGrid(parent, x, y, 8, short);
    label(parent, 4, y.to - 12, `${part.data.readings} per ${column.width ? latency(column.width) : "sixteenth of an octave"}`);
    latencyAxis(parent, x, y, part.data.limit || []);
    for (const curve of order(curves)) {
      let [d, end] = ["", null];
      for (const { low, high, count } of drawn.get(curve)) {
        if (end !== low) d += (end === null ? "" : `V${y.from}`) + `M${px(x.at(low))} ${y.from}`;
        d += `V${px(y.at(count))}H${px(x.at(high))}`;
        end = high;
      }
      path(parent, "curve thin " + curve.class, d && d + `V${y.from}`);
      if (curve.max !== null && curve.max <= x.high) path(parent, "tick", `M${px(x.at(curve.max))} ${y.from}v4`);
    }
    return y;
  };
  const above = (curve, ns) => total(curve.bins.filter((bin) => bin.low >= ns || (bin.low < ns && bin.high > ns)));
  const tail = (parent, part, curves, x, frame, logY) => {
    const most = Math.max(10, ...curves.map((curve) => total(curve.bins)));
    const y = logY ? scale(true, 0.6 / most, 1, frame.from, frame.to) : scale(false, 0, 1, frame.from, frame.to);
    horizontalGrid(parent, x, y, 10, (share) => (share > 0.99 ? "all" : share === 0 ? "none" : logY ? "1 in " + short(Math.round(1 / share)) : digits(share * 100) + " %"));
    label(parent, 4, y.to - 12, `share of ${part.data.readings} at or above`);
    latencyAxis(parent, x, y, part.data.limit || []);
    for (const curve of order(curves)) {
      const values = total(curve.bins);
      let [left, d, at] = [values, `M${x.from} ${px(y.at(1))}`, x.from];
      const corner = (ns) => {
        if (ns < x.low || ns > x.high) return;
        if (x.at(ns) - at >= 0.3) d += `H${px((at = x.at(ns)))}`;
        d += `V${px(y.at(left / values))}`;
      };
      curve.bins.forEach((bin, place) => {
        if (bin.low <= x.low) d = `M${x.from} ${px(y.at(left / values))}`;
        corner(bin.low);
        left -= bin.count;
        const next = curve.bins[place + 1];
        if (next && next.low > bin.high) corner(bin.high);
      });
      if (curve.max !== null && !curve.at_least) corner(curve.max);
      path(parent, "curve " + curve.class, d);
    }
    return y;
  };
  const timeline = (parent, part, lines, x, frame, logY) => {
    const { low, high } = frame;
    const y = logY ? scale(true, low, high, frame.from, frame.to) : scale(false, 0, high, frame.from, frame.to);
    horizontalGrid(parent, x, y, 6, (ns) => digits(ns / 1e3));
    const [limit, name] = part.data.limit || [];
    if (limit >= y.low && limit <= y.high) {
      path(parent, "limit", `M${x.from} ${px(y.at(limit))}H${x.to}`);
      label(parent, x.from + 4, y.at(limit) - 4, "limit " + name, "start", "alarm halo");
    }
    let worst = null;
    for (const line of order(lines)) {
      for (const phase of line.phases) {
        const points = [];
        phase.max.forEach((max, index) => {
          const middle = phase.from + (index + 0.5) * phase.interval;
          if (middle < x.low || middle > x.high) return;
          if (max !== null && (!worst || max > worst.max)) worst = { max, middle };
          const last = points[points.length - 1];
          if (max === null) points.push(null);
          else if (last && x.at(middle) - last[0] < 1.5) last[1] = Math.min(last[1], y.at(max));
          else points.push([x.at(middle), y.at(max)]);
        });
        const command = (point, index) => point && `${index > 0 && points[index - 1] ? "L" : "M"}${px(point[0])} ${px(point[1])}`;
        path(parent, "curve thin " + line.class, points.map(command).filter(Boolean).join(""));
      }
    }
    names(parent, x.to + 8, y.to + 9, lines.filter((line) => line.class !== "rest"));
    if (worst) {
      make("circle", parent, { class: "dot rest", cx: px(x.at(worst.middle)), cy: px(y.at(worst.max)), r: 2.6 });
      const right = x.at(worst.middle) > x.to - 80;
      label(parent, x.at(worst.middle) + (right ? -6 : 6), y.at(worst.max) + 3, latency(worst.max), right ? "end" : "start", "halo");
    }
    return y;
  };

  // One drawing of a figure: what it shows now, in place of what it shows on paper.
  const overTime = ["timeline", "heat", "cpus"];
  const drawing = (svg, figure) => {
    const { kind } = svg.dataset;
    const first = { x: parse(svg.dataset.x), y: parse(svg.dataset.y) };
    const isOverTime = overTime.includes(kind);
    const height = svg.viewBox.baseVal.height;
    const foot = kind === "timeline" ? height - 22 : Math.max(first.y.from, first.y.to);
    const own = { svg, kind, ...first, foot, top: Math.min(first.y.from, first.y.to) };
    const original = [...svg.childNodes];
    const clip = make("clipPath", make("defs", document.createElementNS(svgNames, "svg"), {}), { id: svg.id + "-clip" });
    make("rect", clip, { x: first.x.from, y: 0, width: first.x.to - first.x.from, height });
    const inTime = [...svg.querySelectorAll("g.over-time")];
    const texts = inTime.flatMap((group) => [...group.querySelectorAll("text")]).map((text) => ({ text, x: Number(text.getAttribute("x")) }));
    const [ticksOfTime, maxima] = [[...svg.querySelectorAll("g.ticks")], svg.querySelector("g.drawn")];
    const added = [];
    const add = (parent, before) => {
      const group = document.createElementNS(svgNames, "g");
      parent.insertBefore(group, before);
      added.push(group);
      return group;
    };
    own.restore = () => {
      added.splice(0).forEach((node) => node.remove());
      Object.assign(own, first);
      if (!isOverTime) return svg.replaceChildren(...original);
      for (const group of [...ticksOfTime, maxima]) group?.removeAttribute("display");
      for (const group of inTime) {
        group.removeAttribute("clip-path");
        for (const element of group.children) element.removeAttribute("transform");
      }
      for (const { text, x } of texts) text.setAttribute("x", x);
    };
    own.draw = () => {
      own.restore();
      const { part } = figure;
      const zoom = isOverTime ? part.zoom : figure.zoom;
      const logX = figure.log.x;
      if (zoom) own.x = scale(logX, Math.max(zoom[0], logX ? 1 : -Infinity), zoom[1], first.x.from, first.x.to);
      else if (logX !== first.x.log) {
        const least = Math.min(...part.data.curves.flatMap((curve) => curve.bins.slice(0, 1)).map((bin) => bin.low));
        own.x = scale(logX, logX ? Math.max(100, least / 1.15) : 0, first.x.high, first.x.from, first.x.to);
      }
      const changed = zoom || part.hidden.size || logX !== first.x.log || figure.log.y !== first.y.log;
      if (changed && !isOverTime) {
        svg.replaceChildren(...original.filter((node) => ["title", "desc"].includes(node.tagName)));
        const group = add(svg, null);
        own.y = (kind === "latency" ? histogram : tail)(group, part, shown(part, part.data.curves), own.x, first.y, figure.log.y);
      }
      if (changed && maxima) {
        maxima.setAttribute("display", "none");
        own.y = timeline(add(svg, maxima), part, shown(part, part.data.lines), own.x, first.y, figure.log.y);
      }
      if (isOverTime && zoom) own.stretch();
      if (isOverTime && part.span && part.span !== part.zoom) {
        const [from, to] = part.span.map(own.x.at);
        make("rect", add(svg, null), { class: "chosen", x: px(from), y: own.top, width: px(Math.max(1, to - from)), height: px(own.foot - own.top) });
      }
    };
    // A part of the time axis: what depends on time is stretched and clipped, and the ticks are drawn again.
    own.stretch = () => {
      const { x } = own;
      const factor = (first.x.high - first.x.low) / (x.high - x.low);
      const shift = first.x.from - factor * first.x.at(x.low);
      add(svg, svg.firstChild).appendChild(clip);
      for (const group of inTime) {
        group.setAttribute("clip-path", `url(#${clip.id})`);
        for (const element of group.children) if (element.tagName !== "text") element.setAttribute("transform", `matrix(${factor} 0 0 1 ${shift} 0)`);
      }
      for (const { text, x } of texts) text.setAttribute("x", x * factor + shift);
      const rows = new Set(ticksOfTime.flatMap((group) => [...group.querySelectorAll("text")].map((text) => Number(text.getAttribute("y")))));
      const group = add(svg, ticksOfTime[0]);
      for (const one of ticksOfTime) one.setAttribute("display", "none");
      for (const tick of timeTicks(x, (x.to - x.from) / 90)) {
        if (kind !== "cpus") path(group, "hair", `M${px(x.at(tick))} ${own.top}V${own.foot}`);
        for (const row of rows) label(group, x.at(tick), row, time(tick, x.high - x.low), "middle");
      }
      if (kind !== "cpus") path(group, "axis", `M${x.from} ${first.y.from}H${x.to}`);
    };
    return own;
  };

  // What is at a point of a drawing: a heading, and a line for each curve.
  const answers = {
    latency: ({ x }, part, at) => {
      const curves = shown(part, part.data.curves);
      const column = columnOf(x, curves);
      const ns = x.value(at);
      const all = curves.map((curve) => ({ curve, found: columns(curve.bins, x, column).find((one) => one.low <= ns && ns < one.high) }));
      const some = all.find(({ found }) => found);
      const [low, high] = some ? [some.found.low, some.found.high] : column({ low: Math.floor(ns), high: Math.floor(ns) + 1 });
      return [`${latency(low)} to ${latency(high)}`, ...all.map(({ curve, found }) => [`${curve.label}: ${count(found ? found.count : 0)}`, curve.class])];
    },
    exceedance: ({ x }, part, at) => {
      const line = (curve) => {
        const [beyond, values] = [above(curve, x.value(at)), total(curve.bins)];
        return [`${curve.label}: ${beyond ? "1 in " + digits(values / beyond) + ` (${count(beyond)})` : "none"}`, curve.class];
      };
      return [`at least ${latency(x.value(at))}`, ...shown(part, part.data.curves).map(line)];
    },
    timeline: ({ x, y, svg }, part, at, up) => {
      const now = x.value(at);
      const heading = time(now, x.high - x.low);
      if (up > y.from) {
        const panel = [...svg.querySelectorAll("g.panel")].find((one) => up <= parse(one.dataset.y).from + 3);
        return panel ? [`${heading} · ${panel.dataset.name}`, ...readings(panel, svg, now)] : [heading];
      }
      const highest = (line) => {
        const phase = line.phases.find(({ from, interval, max }) => now >= from && now < from + interval * max.length);
        const max = phase && phase.max[Math.floor((now - phase.from) / phase.interval)];
        return [`${line.label}: ${max === undefined || max === null ? "nothing" : latency(max)}`, line.class];
      };
      return [heading, ...shown(part, part.data.lines).map(highest)];
    },
    heat: ({ x, y }, part, at, up) => {
      const { columns, rows_per_octave: rows, lowest_row: lowest } = part.data.heat;
      const [now, ns] = [x.value(at), y.value(up)];
      const column = columns.find(({ from, to }) => now >= from && now < to);
      const row = Math.floor(Math.log2(ns) * rows);
      if (!column) return [time(now, x.high - x.low), ["nothing recorded", "soft"]];
      const [low, high] = [row, row + 1].map((edge) => latency(Math.pow(2, edge / rows)));
      const held = column.counts[row - lowest] || 0;
      return [`${time(column.from, x.high - x.low)} to ${time(column.to, x.high - x.low)}`, [`${low} to ${high}: ${count(held)} ${part.data.readings}`, ""]];
    },
    cpus: ({ x, y }, part, at, up) => {
      const { interval, rows } = part.data.cpus;
      const row = rows[Math.min(rows.length - 1, Math.floor(y.value(up)))];
      const column = Math.min(row.max.length - 1, Math.floor(x.value(at) / interval));
      const ends = [column, column + 1].map((edge) => time(edge * interval, x.high - x.low)).join(" to ");
      return [`${row.label}, ${ends}`, [row.max[column] === null ? "nothing recorded" : "highest " + latency(row.max[column]), ""]];
    },
  };
  // The readings of a panel of the environment, as exact as its lines are drawn.
  const readings = (panel, svg, now) => {
    const [x, y] = [parse(svg.dataset.x), parse(panel.dataset.y)];
    const at = x.at(now);
    return [...panel.querySelectorAll("path")].reverse().map((line) => {
      let [left, up, found] = [0, 0, null];
      for (const [, letter, values] of line.getAttribute("d").matchAll(/([Mlhv])([^a-zM]*)/g)) {
        const steps = values.match(/-?(\d+(\.\d+)?|\.\d+)/g).map(Number);
        for (let place = 0; place < steps.length; place += "hv".includes(letter) ? 1 : 2) {
          if (letter === "M") [left, up] = steps;
          else if (letter === "v") up += steps[place];
          else [left, up] = [left + steps[place], up + (letter === "l" ? steps[place + 1] : 0)];
          if (left <= at) found = up;
        }
      }
      const name = line.querySelector("title").textContent;
      return [`${name === panel.dataset.name ? "" : name + ": "}${found === null ? "nothing" : short(y.value(found))}`, line.getAttribute("class").split(" ").pop()];
    });
  };
  const readout = (own, figure, at, up) => {
    own.clear();
    const { svg, x } = own;
    const [heading, ...lines] = answers[own.kind](own, figure.part, at, up);
    const group = make("g", svg, { class: "readout" });
    path(group, "axis", `M${px(at)} ${own.top}V${px(own.foot)}`);
    if (own.kind === "heat" || own.kind === "cpus") path(group, "axis", `M${x.from} ${px(up)}H${x.to}`);
    const box = make("rect", group, { class: "answer", rx: 3 });
    const texts = [label(group, 0, 0, heading, "start", ""), ...lines.map(([text, name]) => label(group, 0, 0, text, "start", name === "rest" ? "soft" : name))];
    const width = Math.max(...texts.map((text) => text.getComputedTextLength())) + 14;
    const height = texts.length * 14 + 8;
    const left = Math.max(2, at > (x.from + x.to) / 2 ? at - 10 - width : Math.min(at + 10, svg.viewBox.baseVal.width - width - 2));
    const top = Math.max(2, Math.min(up - height / 2, svg.viewBox.baseVal.height - height - 2));
    const place = (element, attributes) => Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
    place(box, { x: px(left), y: px(top), width: px(width), height });
    texts.forEach((text, row) => place(text, { x: px(left + 7), y: px(top + 15 + row * 14) }));
    return texts.map((text) => text.textContent);
  };

  // Controls above each figure.
  const html = (name, parent, attributes = {}, text = "") => fill(document.createElement(name), parent, attributes, text);
  const button = (parent, text, press, pressed) => {
    const element = html("button", parent, { type: "button" }, text);
    if (pressed !== undefined) element.setAttribute("aria-pressed", pressed);
    element.addEventListener("click", () => press(element));
    return element;
  };
  const visible = (figure) => figure.drawings.find(({ svg }) => svg.getClientRects().length > 0) || figure.drawings[0];
  const drawAll = (part) => {
    for (const figure of part.figures) {
      figure.drawings.forEach((own) => own.draw());
      figure.update();
    }
    part.showSpan();
  };
  const choose = (figure, range) => {
    if (figure.isOverTime) Object.assign(figure.part, { span: range, asked: figure });
    else figure.zoom = range;
    drawAll(figure.part);
  };
  const reset = (figure) => {
    if (figure.isOverTime) Object.assign(figure.part, { zoom: null, span: null });
    Object.assign(figure, { zoom: null, log: { ...figure.first } });
    figure.part.hidden.clear();
    drawAll(figure.part);
  };
  const controls = (figure, title) => {
    const { part, element, isOverTime } = figure;
    const { kind, x } = figure.drawings[0];
    const bar = html("div", document.createElement("div"), { class: "ask", role: "group", "aria-label": `Controls of the plot “${title}”` });
    element.insertBefore(bar, element.firstChild);
    const lines = kind === "timeline" ? part.data.lines : isOverTime ? [] : part.data.curves;
    const toggles = lines.length < 2 ? [] : lines.map((line) => {
      const toggle = button(bar, "", () => {
        if (!part.hidden.delete(line.label)) part.hidden.add(line.label);
        drawAll(part);
      }, true);
      toggle.className = "curve-of";
      const swatch = make("svg", toggle, { class: "tardy-plot", viewBox: "0 0 14 8", width: 14, height: 8, "aria-hidden": "true" });
      make("path", swatch, { class: "curve " + line.class, d: "M0 4h14" });
      toggle.append(line.label);
      return { toggle, line };
    });
    const axes = [];
    const axis = (which, text) => axes.push({ which, toggle: button(bar, text, () => {
      figure.log[which] = !figure.log[which];
      if (which === "x" && figure.zoom && figure.zoom[0] <= 0) figure.zoom = null;
      drawAll(part);
    }, figure.log[which]) });
    if (!isOverTime) axis("x", "logarithmic latency");
    const vertical = { latency: "counts", exceedance: "shares", timeline: "latency" }[kind];
    if (vertical) axis("y", "logarithmic " + vertical);
    const [, factor, unit] = isOverTime ? timeUnit(x.high) : [0, 1e3, "µs"];
    const ends = ["from", "to"].map((name) => {
      const entry = html("label", bar, {}, `${name}, ${unit} `);
      const input = html("input", entry, { type: "number", step: "any", inputmode: "decimal" });
      input.addEventListener("change", () => {
        const whole = [visible(figure).x.low, visible(figure).x.high];
        const range = ends.map((end, place) => (end.value === "" ? whole[place] : Number(end.value) * factor));
        if (range[0] < range[1]) choose(figure, range);
      });
      return input;
    });
    if (isOverTime) figure.zoomer = button(bar, "zoom", () => { part.zoom = part.span; drawAll(part); });
    button(bar, "reset", () => reset(figure));
    const entry = html("label", bar, {}, "read at ");
    const slide = (name, parent) => html("input", parent, { type: "range", min: 0, max: 400, value: 200, "aria-label": `${name} on the plot “${title}”` });
    const sliders = [slide("Position", entry), ...(kind === "heat" || kind === "cpus" ? [slide("Height", entry)] : [])];
    const ask = () => {
      const own = visible(figure);
      const [along, upwards] = sliders.map((slider) => Number(slider.value) / 400);
      const up = upwards === undefined ? own.top + 40 : own.foot + upwards * (own.top - own.foot);
      const text = readout(own, figure, own.x.from + along * (own.x.to - own.x.from), up).join("; ");
      sliders.forEach((slider) => slider.setAttribute("aria-valuetext", text));
    };
    for (const slider of sliders) {
      for (const name of ["input", "focus"]) slider.addEventListener(name, ask);
      slider.addEventListener("blur", () => figure.drawings.forEach((own) => own.clear()));
    }
    // It is there before there is something to report, so that screen readers report it.
    if (isOverTime) figure.status = html("p", element, { class: "note", role: "status" });
    figure.update = () => {
      const range = isOverTime ? part.span : figure.zoom;
      ends.forEach((input, place) => { input.value = range ? Number((range[place] / factor).toPrecision(4)) : ""; });
      toggles.forEach(({ toggle, line }) => toggle.setAttribute("aria-pressed", !part.hidden.has(line.label)));
      axes.forEach(({ which, toggle }) => toggle.setAttribute("aria-pressed", figure.log[which]));
      if (figure.zoomer) figure.zoomer.disabled = !part.span;
    };
    figure.update();
  };

  // The pointer: it reads, and it drags a range.
  const listen = (own, figure) => {
    const { svg } = own;
    let start = null;
    const point = (event) => {
      const box = svg.getBoundingClientRect();
      return [(event.clientX - box.left) * svg.viewBox.baseVal.width / box.width, (event.clientY - box.top) * svg.viewBox.baseVal.height / box.height];
    };
    own.clear = () => svg.querySelectorAll(".readout").forEach((one) => one.remove());
    const within = (at) => Math.min(own.x.to, Math.max(own.x.from, at));
    svg.addEventListener("pointerleave", own.clear);
    const isInside = ([at, up]) => at >= own.x.from && at <= own.x.to && up >= own.top && up <= own.foot;
    svg.addEventListener("pointerdown", (event) => {
      if (event.button === 0 && isInside(point(event))) [start] = point(event);
    });
    svg.addEventListener("pointermove", (event) => {
      const [at, up] = point(event);
      own.clear();
      if (start === null && !isInside([at, up])) return;
      readout(own, figure, within(at), Math.min(own.foot, Math.max(own.top, up)));
      if (start === null || Math.abs(at - start) < 4) return;
      if (event.pointerId && !svg.hasPointerCapture(event.pointerId)) svg.setPointerCapture(event.pointerId);
      const [low, high] = [Math.min(start, within(at)), Math.max(start, within(at))];
      const group = svg.querySelector(".readout");
      group.insertBefore(make("rect", group, { class: "chosen", x: px(low), y: own.top, width: px(high - low), height: px(own.foot - own.top) }), group.firstChild);
    });
    svg.addEventListener("pointerup", (event) => {
      const range = start === null ? [0, 0] : [start, within(point(event)[0])].sort((a, b) => a - b);
      start = null;
      if (range[1] - range[0] >= 4) choose(figure, range.map(own.x.value));
    });
    svg.addEventListener("pointercancel", () => { start = null; });
    svg.addEventListener("dblclick", () => reset(figure));
  };

  // The histogram of the chosen span of time, below the figure in which it was chosen.
  const showSpan = (part) => {
    part.panel?.remove();
    for (const { status } of part.figures) if (status) status.textContent = "";
    if (!part.span) return;
    const { data, span: [from, to], asked: { element, status } } = part;
    const panel = part.panel = html("div", element, { class: "span" });
    const chosen = data.spans.map((span, index) => ({ span, index })).filter(({ span }) => span[0] < to && span[1] > from);
    const inSpan = (curve) => {
      const worst = Math.max(...chosen.map(({ index }) => curve.worst[index] ?? -Infinity));
      return { ...curve, bins: merged(chosen.map(({ index }) => curve.spans[index])), max: worst };
    };
    const curves = shown(part, data.curves).filter((curve) => curve.spans.length).map(inSpan).filter((curve) => curve.bins.length);
    status.textContent = data.spans.length ? "Nothing was recorded in this span." : "The run file has no histograms of spans of time.";
    if (!curves.length) return;
    const [begin, end] = [chosen[0].span[0], chosen[chosen.length - 1].span[1]].map((ns) => time(ns, visible(part.asked).x.high));
    status.textContent = `${begin} to ${end}: the recorded intervals that the span touches. Their bins are wider than those of the whole run, so a quantile is up to 7 % too high.`;
    const table = html("table", html("div", panel, { class: "scroll" }), { class: "latencies" });
    const heads = ["µs", "recorded", "p99", "p99.9", "max"];
    const [head, body] = [html("tr", html("thead", table)), html("tbody", table)];
    heads.forEach((name) => html("th", head, { scope: "col" }, name));
    const us = (ns) => (ns === null ? "n/a" : grouped(ns / 1e3, places(ns / 1e3), places(ns / 1e3)));
    for (const curve of curves) {
      const line = html("tr", body);
      html("th", line, { scope: "row" }, curve.label);
      const cap = (ns) => (ns === null ? null : Math.min(ns, curve.max));
      const cells = [count(total(curve.bins)), us(cap(quantile(curve.bins, 0.99))), us(cap(quantile(curve.bins, 0.999))), us(curve.max)];
      cells.forEach((cell, place) => html("td", line, { "data-name": heads[place + 1] }, cell));
    }
    const width = visible(part.asked).svg.viewBox.baseVal.width;
    const title = `Histogram of ${begin} to ${end}`;
    const svg = make("svg", panel, { class: "tardy-plot", viewBox: `0 0 ${width} 260`, width, height: 260, role: "img", "aria-label": title });
    const lowest = Math.min(...data.curves.map((curve) => curve.bins[0].low));
    // The same axis for every span of the run.
    const x = scale(true, Math.max(100, lowest) / 1.15, Math.max(1000, ...data.curves.map((curve) => curve.max)) * 1.25, 52, width - 12);
    const y = histogram(svg, part, curves, x, { from: 220, to: 28 }, true);
    names(svg, x.to - 110, y.to + 12, curves.filter((curve) => curve.class !== "rest"));
  };

  for (const element of document.querySelectorAll("figure")) {
    const svgs = [...element.querySelectorAll("svg[data-kind]")].filter((svg) => svg.dataset.kind in answers);
    if (!svgs.length) continue;
    const part = parts.get(svgs[0].id.replace(/[a-z]+-(wide|narrow)$/, ""));
    if (!part) continue;
    const log = { x: parse(svgs[0].dataset.x).log, y: parse(svgs[0].dataset.y).log };
    const figure = { element, part, zoom: null, log: { ...log }, first: log, isOverTime: overTime.includes(svgs[0].dataset.kind) };
    figure.drawings = svgs.map((svg) => drawing(svg, figure));
    part.figures.push(figure);
    part.showSpan = () => showSpan(part);
    figure.drawings.forEach((own) => listen(own, figure));
    controls(figure, svgs[0].querySelector("title").textContent);
  }

  // On paper, plots are as they were at first. Everything is unfolded, except the CPUs that are not among the worst.
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open]):not(.folded)")];
    for (const details of folded) details.open = true;
    for (const part of parts.values()) part.figures.forEach((figure) => figure.drawings.forEach((own) => { own.clear(); own.restore(); }));
  });
  addEventListener("afterprint", () => {
    for (const details of folded) details.open = false;
    for (const part of parts.values()) if (part.figures.length) drawAll(part);
  });
  // A table that is wider than the page is scrolled by keyboard too.
  const scrolled = new ResizeObserver((entries) => {
    for (const { target } of entries) target.tabIndex = target.scrollWidth > target.clientWidth || target.scrollHeight > target.clientHeight ? 0 : -1;
  });
  document.querySelectorAll(".scroll").forEach((element) => scrolled.observe(element));
  // A link to a folded run unfolds it.
  const unfold = () => document.querySelector(`details[id="${CSS.escape(location.hash.slice(1))}"]`)?.setAttribute("open", "");
  addEventListener("hashchange", unfold);
  unfold();
  // In a frame, a link within the page would leave it.
  if (location.protocol === "about:") addEventListener("click", (event) => {
    const id = event.target.closest?.("a[href^='#']")?.hash.slice(1);
    if (!id) return;
    event.preventDefault();
    const target = document.getElementById(id);
    target.open = true;
    target.scrollIntoView();
  });
})();
