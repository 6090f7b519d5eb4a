"use strict";
// The page: asks the worker, and shows its answers. All text from files enters the document as text, never as HTML.
const $ = (id) => document.getElementById(id);
const make = (name, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
};

// ---- The worker, its progress, and its end ----

let worker = null;
let waiting = new Map();
let nextId = 0;
let moduleBytes = null;
// What the worker holds, so that another can take its place: name, label of the format, run file as a Blob.
const opened = [];
let busySince = 0;

async function unpacked(id) {
  const packed = Uint8Array.from(atob($(id).textContent.trim()), (sign) => sign.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

function send(message) {
  const id = nextId++;
  return new Promise((resolve, reject) => {
    waiting.set(id, { resolve, reject });
    worker.postMessage({ id, ...message });
  });
}

async function startWorker() {
  const source = new Blob([$("worker-source").textContent], { type: "text/javascript" });
  const address = URL.createObjectURL(source);
  worker = new Worker(address);
  worker.onmessage = ({ data }) => {
    if (data.progress !== undefined) {
      $("working-bar").max = Math.max(data.of, 1);
      $("working-bar").value = data.progress;
      return;
    }
    const one = waiting.get(data.id);
    waiting.delete(data.id);
    if (data.memory) document.documentElement.dataset.memory = data.memory;
    if (!one) return;
    if (data.error) one.reject(Object.assign(new Error(data.error), { broken: data.broken }));
    else one.resolve(data);
  };
  moduleBytes ??= await unpacked("module");
  await send({ module: moduleBytes });
  URL.revokeObjectURL(address);
}

async function restartWorker() {
  worker.terminate();
  for (const { reject } of waiting.values()) reject(new Error("cancelled"));
  waiting = new Map();
  await startWorker();
  for (const entry of opened) {
    const { value } = await send({ request: { do: "add", name: entry.name }, file: entry.content });
    entry.number = value.runs[0].number;
  }
}

// Answers one request, with a bar that can be cancelled if it takes longer than a moment.
async function ask(request, what = "Computing", file = undefined) {
  const timer = setTimeout(() => {
    $("working-text").textContent = what;
    $("working-bar").removeAttribute("value");
    $("working").hidden = false;
  }, 150);
  try {
    return await send({ request, file });
  } catch (error) {
    if (error.broken) await restartWorker();
    throw error;
  } finally {
    clearTimeout(timer);
    $("working").hidden = true;
  }
}

// ---- Messages ----

function fail(error) {
  $("failure").textContent = error.message ?? String(error);
  $("failure").hidden = false;
}

// Runs what an element starts; an error is shown, and the one before is not.
function on(id, event, action) {
  $(id).addEventListener(event, async (happened) => {
    $("failure").hidden = true;
    try {
      await action(happened);
    } catch (error) {
      fail(error);
    }
  });
}

function save(name, content, type) {
  const address = URL.createObjectURL(new Blob([content], { type }));
  const link = make("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

const textOf = (bytes) => new TextDecoder().decode(bytes);

// ---- Opening ----

async function addFile(path, file, options = {}) {
  const { value } = await ask({ do: "add", name: path, options }, `Reading ${path}`, file);
  await keepAll(value.runs);
  for (const refusal of value.refused) showRefusal(path, file, refusal, options);
  return value;
}

async function keepAll(summaries) {
  for (const summary of summaries) {
    const { content } = await send({ request: { do: "run-file", run: summary.number } });
    opened.push({ ...summary, content: new Blob([content]), used: true });
  }
  showRuns();
}

const FIELDS = {
  unit: ["unit", ["us", "ns"]],
  as: ["format", () => known.formats.map((one) => one.name)],
  edge: ["edge", ["rising", "falling"]],
  "time-unit": ["unit of the times", ["s", "ms", "us", "ns", "ps"]],
  command: ["command line", null],
  in: ["channel of the stimulus", null],
  out: ["channel of the answer", null],
};

// A file that was not read: the command line's message, and fields for the options that it names.
function showRefusal(path, file, refusal, before) {
  const item = make("li", {}, make("p", { textContent: refusal.message }));
  const fields = new Map();
  const form = make("form", { className: "asked" });
  for (const name of refusal.asks) {
    const [label, choices] = FIELDS[name];
    const values = typeof choices === "function" ? choices() : choices;
    const field = values
      ? make("select", {}, make("option", { value: "", textContent: "not given" }), ...values.map((value) => make("option", { value, textContent: value })))
      : make("input", { type: "text", spellcheck: false });
    if (before[name]) field.value = before[name];
    fields.set(name, field);
    form.append(make("label", {}, `${label} (--${name}) `, field));
  }
  if (refusal.asks.length > 0) form.append(make("button", { type: "submit", textContent: "Read it again" }));
  form.append(make("button", { type: "button", textContent: "Dismiss", onclick: () => item.remove() }));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const options = { ...before };
    for (const [name, field] of fields) options[name] = field.value;
    try {
      item.remove();
      await addFile(path, file, options);
    } catch (error) {
      fail(error);
    }
  });
  item.append(form);
  $("refused").append(item);
}

// All files, those with a unit for their neighbours first.
async function addAll(files) {
  files.sort((a, b) => b.path.endsWith("results.json") - a.path.endsWith("results.json") || (a.path < b.path ? -1 : 1));
  for (const { path, file } of files) await addFile(path, file);
  if (files.length === 0) throw new Error("nothing was dropped that is a file or a directory");
}

async function filesOf(handle, path) {
  if (handle.kind === "file") return [{ path, file: await handle.getFile() }];
  const files = [];
  for await (const [name, inner] of handle.entries()) files.push(...(await filesOf(inner, `${path}/${name}`)));
  return files;
}

async function dropped(transfer) {
  const items = [...transfer.items].filter((item) => item.kind === "file");
  const handles = items.map((item) => (item.getAsFileSystemHandle ? item.getAsFileSystemHandle() : null));
  const plain = [...transfer.files];
  const files = [];
  for (const [index, pending] of handles.entries()) {
    const handle = pending && (await pending.catch(() => null));
    if (handle) files.push(...(await filesOf(handle, handle.name)));
    else if (plain[index]) files.push({ path: plain[index].name, file: plain[index] });
  }
  await addAll(files);
}

// ---- The list ----

const chosen = () => opened.filter((entry) => entry.used);
const numbers = () => chosen().map((entry) => entry.number);

function showRuns() {
  const rows = opened.map((entry) => {
    const use = make("input", { type: "checkbox", checked: entry.used, ariaLabel: `use ${entry.name}` });
    use.addEventListener("change", () => (entry.used = use.checked));
    const close = make("button", { type: "button", textContent: "Close", ariaLabel: `close ${entry.name}` });
    close.addEventListener("click", async () => {
      opened.splice(opened.indexOf(entry), 1);
      showRuns();
      await send({ request: { do: "close", run: entry.number } });
    });
    const kernel = make("td", { className: "wide" }, entry.headline);
    if (!entry.valid) kernel.append(" ", make("span", { className: "invalid", textContent: "invalid: its numbers must not be used" }));
    for (const remark of entry.remarks) kernel.append(make("div", { className: "note", textContent: remark }));
    return make("tr", {}, make("td", {}, use), make("th", { scope: "row", textContent: entry.name }), kernel,
      make("td", { className: "number", textContent: entry.readings.toLocaleString("en-GB") }),
      make("td", { className: "number", textContent: entry.worst ?? "" }), make("td", { textContent: entry.format }), make("td", {}, close));
  });
  $("list").tBodies[0].replaceChildren(...rows);
  $("with-runs").hidden = opened.length === 0;
}

// ---- What is made of runs ----

let report = null;

async function makeReport(place = "nearest", runs = numbers()) {
  const published = [$("published").value].filter(Boolean);
  const { content } = await ask({ do: "report", runs, published }, "Making the report");
  report = textOf(content);
  let text = "";
  if (published.length > 0) text = (await ask({ do: "published", runs, published })).value.text;
  $("outcome").replaceChildren(...(text ? [make("pre", { tabIndex: 0, textContent: text })] : []));
  $("frame").srcdoc = report;
  $("report").hidden = false;
  $("save-report").disabled = false;
  $("report").scrollIntoView({ block: place });
}

async function judge() {
  const { value } = await ask({ do: "gate", runs: numbers(), require: $("require").value, form: $("form").value });
  $("outcome").replaceChildren(make("h2", { className: value.outcome, textContent: `Outcome: ${value.outcome}` }),
    make("pre", { tabIndex: 0, textContent: value.text }));
}

const figure = (data) => ask({ do: "figure", runs: numbers(), kind: $("kind").value, data }, "Drawing");

async function draw() {
  const { content } = await figure(false);
  const address = URL.createObjectURL(new Blob([content], { type: "image/svg+xml" }));
  $("figure").replaceChildren(make("img", { src: address, alt: `${$("kind").value} of ${chosen().map((one) => one.name).join(", ")}` }));
}

// A picture on white paper, whatever the reader's colours, at twice the size.
async function png(svg) {
  const light = svg.replaceAll("(prefers-color-scheme:dark)", "not all");
  const address = URL.createObjectURL(new Blob([light], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = make("canvas", { width: image.naturalWidth * 2, height: image.naturalHeight * 2 });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  } finally {
    URL.revokeObjectURL(address);
  }
}

const fileName = () => (chosen()[0]?.name ?? "tardy").replaceAll(/[^A-Za-z0-9._-]+/g, "-");

async function saveExport() {
  const [one] = chosen();
  const to = $("export").value;
  const { value, content } = await ask({ do: "export", run: one?.number ?? -1, to, unit: "us", limit: "", outlier: 1 }, "Exporting");
  let from = 0;
  for (const { suffix, length } of value.files) {
    save(`${fileName()}.${to}${suffix}`, content.slice(from, from + length), value.text ? "text/plain" : "application/octet-stream");
    from += length;
  }
  const lost = value.remarks.map((remark) => make("li", { textContent: `${to}: ${remark}` }));
  $("outcome").replaceChildren(make("ul", {}, ...lost));
}

async function saveTables() {
  const { value } = await ask({ do: "tables", runs: numbers() }, "Writing the tables");
  save(`${fileName()}.tables.csv`, value.map((table) => `# ${table.title}\n${table.csv}`).join("\n"), "text/csv");
}

let shared = null;

// The options of a kernel's configuration are one field for the reader.
function grouped(redacted) {
  const groups = {};
  for (const [field, count] of Object.entries(redacted)) {
    const name = field.replace(/^(facts\.kernel\.config)\..*/, "$1");
    groups[name] = (groups[name] ?? 0) + count;
  }
  return groups;
}

async function share() {
  const keep = [...$("shared").querySelectorAll("input:checked")].map((box) => box.value);
  const { value } = await ask({ do: "share", runs: numbers(), keep, base: $("base").value }, "Making the link");
  shared = value;
  const box = (field, count, checked) => make("li", {}, make("label", {},
    make("input", { type: "checkbox", value: field, checked }), ` ${field}${count ? ` (${count})` : ""}`));
  const removed = Object.entries(grouped(value.shared.redacted)).map(([field, count]) => box(field, count, false));
  const list = [...keep.map((field) => box(field, 0, true)), ...removed];
  const parts = [make("p", { textContent: `The link has ${value.shared.link.length.toLocaleString("en-GB")} characters.` }),
    make("code", { className: "link", tabIndex: 0, textContent: value.shared.link })];
  if (value.shared.left_out.length > 0) parts.push(make("p", { textContent: `Left out: ${value.shared.left_out.join("; ")}.` }));
  if (list.length > 0) parts.push(make("p", { textContent: "Taken out, unless ticked; then make the link again:" }), make("ul", {}, ...list));
  parts.push(make("details", {}, make("summary", { textContent: "As Markdown" }), make("pre", { tabIndex: 0, textContent: value.markdown })));
  $("shared").replaceChildren(...parts);
  $("copy-link").hidden = $("copy-markdown").hidden = false;
}

async function copy(text, id) {
  await navigator.clipboard.writeText(text);
  const before = $(id).textContent;
  $(id).textContent = "Copied";
  setTimeout(() => ($(id).textContent = before), 1500);
}

async function openLink(text) {
  if (/#t\d+\./.test(text)) {
    const { value } = await ask({ do: "open-switch", link: text });
    show("bench");
    setSwitch(value.text);
    return;
  }
  const { value } = await ask({ do: "open", link: text }, "Opening the link");
  for (const entry of opened) entry.used = false;
  await keepAll(value.runs);
  show("runs");
  await makeReport("start");
}

// ---- The bench ----

let checking = 0;

function setSwitch(text) {
  $("switch").value = text;
  return check();
}

async function check() {
  const own = ++checking;
  const text = $("switch").value;
  const { value } = await send({ request: { do: "check", text, name: "switch.toml" } });
  if (own !== checking) return;
  const problems = (value.problems ?? []).map((one) => ({ ...one, kind: "refused" }));
  const findings = [...problems, ...(value.findings ?? [])];
  showGutter(text, findings);
  showFindings(findings, value.problems !== undefined);
  if (value.problems === undefined) {
    showSvg($("gates"), value.gates);
    $("plan-of").replaceChildren(...value.switches.map((name) => make("option", { value: name, textContent: name })));
  }
}

const RANK = { refused: 3, accepted: 2, note: 1 };

function showGutter(text, findings) {
  const worst = new Map();
  for (const { line, kind } of findings) {
    if ((RANK[kind] ?? 0) > (RANK[worst.get(line)] ?? 0)) worst.set(line, kind);
  }
  const lines = text.split("\n").map((_, index) => make("li", { className: worst.get(index + 1) ?? "", textContent: index + 1 }));
  $("gutter").replaceChildren(...lines);
  $("gutter").scrollTop = $("switch").scrollTop;
}

const WORDS = { refused: "the kernel refuses", accepted: "wrong on the wire", note: "note" };

function showFindings(findings, unreadable) {
  const items = findings.map((one) => {
    const word = unreadable ? "not a switch file" : WORDS[one.kind];
    const go = make("button", { type: "button", className: "plain", textContent: `line ${one.line}` });
    go.addEventListener("click", () => goToLine(one.line));
    const item = make("li", { className: one.kind }, make("p", {}, go, ` ${word}: `, make("b", { textContent: one.what })));
    if (one.error) item.append(make("p", {}, make("code", { textContent: one.error })));
    if (one.effect) item.append(make("p", { textContent: one.effect }));
    if (one.change) item.append(make("p", { textContent: one.change }));
    return item;
  });
  const none = make("li", { className: "good", textContent: "No problems." });
  $("findings").replaceChildren(...(items.length > 0 ? items : [none]));
}

function goToLine(line) {
  const text = $("switch").value.split("\n");
  const from = text.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
  $("switch").focus();
  $("switch").setSelectionRange(from, from + (text[line - 1] ?? "").length);
  $("switch").scrollTop = Math.max(0, (line - 6) * parseFloat(getComputedStyle($("switch")).lineHeight));
}

// A drawing of tardy's: parsed as SVG, which has no script, and without a style sheet of its own.
function showSvg(place, text) {
  if (!text) {
    place.replaceChildren();
    return;
  }
  const drawing = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  place.replaceChildren(document.adoptNode(drawing));
}

let simulated = [];

async function simulate() {
  const { value } = await ask({ do: "simulate", text: $("switch").value, name: "switch.toml", talk: $("talk").value }, "Simulating");
  const parts = [];
  simulated = [];
  for (const [mode, title] of [["linux", "As Linux's software TAPRIO"], ["standard", "As the standard says"]]) {
    const one = value[mode];
    const part = make("section", {}, make("h2", { textContent: title }));
    if (one.error) {
      part.append(make("p", { className: "refused", textContent: one.error }));
    } else {
      const gates = make("div");
      showSvg(gates, one.gates);
      const place = make("div");
      showSvg(place, one.plot);
      part.append(gates, place, make("pre", { tabIndex: 0, textContent: one.summary }));
      await keepAll([one.run]);
      opened.at(-1).used = false;
      simulated.push(opened.at(-1));
    }
    parts.push(part);
  }
  showRuns();
  $("modes").replaceChildren(...parts);
  $("compare-modes").hidden = simulated.length < 2;
}

async function reportOfModes() {
  for (const entry of opened) entry.used = simulated.includes(entry);
  showRuns();
  show("runs");
  await makeReport();
}

async function synthesize() {
  const { value } = await ask({ do: "synthesize", text: $("switch").value }, "Computing a schedule");
  const parts = [make("h2", { textContent: "Schedule" }), make("pre", { tabIndex: 0, textContent: value.summary })];
  for (const remark of value.remarks) parts.push(make("p", { textContent: remark }));
  if (value.file) {
    const use = make("button", { type: "button", textContent: "Use the file with this schedule" });
    use.addEventListener("click", () => setSwitch(value.file));
    parts.push(make("p", { className: "row" }, use));
  }
  for (const picture of value.pictures.filter((one) => one)) {
    const place = make("div", { className: "picture", tabIndex: 0 });
    showSvg(place, picture);
    parts.push(place);
  }
  $("schedule").replaceChildren(...parts);
}

async function plan() {
  const { value } = await ask({ do: "plan", text: $("switch").value, switch: $("plan-of").value });
  $("plan-text").replaceChildren(make("h2", { textContent: "Plan" }), make("pre", { tabIndex: 0, textContent: value.text }));
}

async function shareSwitch() {
  const { value } = await ask({ do: "share-switch", text: $("switch").value, base: $("base").value });
  const link = make("code", { className: "link", textContent: value.link, tabIndex: 0 });
  $("switch-link").replaceChildren(`A link of ${value.link.length.toLocaleString("en-GB")} characters: `, link);
}

async function takeExample(name) {
  await setSwitch((await ask({ do: "example", name })).value.text);
}

// ---- The parts of the page ----

function show(part) {
  for (const one of ["runs", "bench"]) {
    $(one).hidden = one !== part;
    if (one === part) $(`show-${one}`).setAttribute("aria-current", "page");
    else $(`show-${one}`).removeAttribute("aria-current");
  }
  if (part === "bench" && $("switch").value === "") takeExample(known.switches[0]).catch(fail);
}

let known = null;

function fill(id, names) {
  $(id).append(...names.map(([value, textContent]) => make("option", { value, textContent })));
}

function connect() {
  on("files", "change", async () => {
    const files = [...$("files").files].map((file) => ({ path: file.name, file }));
    $("files").value = "";
    await addAll(files);
  });
  on("directory", "change", async () => {
    const files = [...$("directory").files].map((file) => ({ path: file.webkitRelativePath || file.name, file }));
    $("directory").value = "";
    await addAll(files);
  });
  for (const event of ["dragover", "dragenter"]) {
    document.addEventListener(event, (happened) => {
      happened.preventDefault();
      $("drop").classList.add("over");
    });
  }
  document.addEventListener("dragleave", (happened) => happened.relatedTarget ?? $("drop").classList.remove("over"));
  document.addEventListener("drop", async (happened) => {
    happened.preventDefault();
    $("drop").classList.remove("over");
    $("failure").hidden = true;
    try {
      show("runs");
      await dropped(happened.dataTransfer);
    } catch (error) {
      fail(error);
    }
  });
  on("show-formats", "click", () => {
    $("formats").hidden = !$("formats").hidden;
    $("show-formats").setAttribute("aria-expanded", String(!$("formats").hidden));
  });
  on("show-runs", "click", () => show("runs"));
  on("show-bench", "click", () => show("bench"));
  on("cancel", "click", restartWorker);
  on("make-report", "click", () => makeReport());
  on("save-report", "click", () => save(`${fileName()}.html`, report, "text/html"));
  on("judge", "click", judge);
  on("draw", "click", draw);
  on("save-svg", "click", async () => save(`${fileName()}.svg`, (await figure(false)).content, "image/svg+xml"));
  on("save-png", "click", async () => save(`${fileName()}.png`, await png(textOf((await figure(false)).content)), "image/png"));
  on("save-data", "click", async () => save(`${fileName()}.csv`, (await figure(true)).content, "text/csv"));
  on("save-export", "click", saveExport);
  on("save-tables", "click", saveTables);
  on("share", "click", share);
  on("copy-link", "click", () => copy(shared.shared.link, "copy-link"));
  on("copy-markdown", "click", () => copy(shared.markdown, "copy-markdown"));
  on("open-link", "submit", (happened) => {
    happened.preventDefault();
    return openLink($("link").value);
  });
  on("switch", "input", check);
  $("switch").addEventListener("scroll", () => ($("gutter").scrollTop = $("switch").scrollTop));
  on("example", "change", () => takeExample($("example").value));
  on("switch-file", "change", async () => setSwitch(await $("switch-file").files[0].text()));
  on("save-switch", "click", () => save("switch.toml", $("switch").value, "text/plain"));
  on("share-switch", "click", shareSwitch);
  on("simulate", "click", simulate);
  on("compare-modes", "click", reportOfModes);
  on("synthesize", "click", synthesize);
  on("plan", "click", plan);
  window.addEventListener("hashchange", () => openFragment().catch(fail));
}

async function openFragment() {
  if (/^#[rt]\d+\./.test(location.hash)) await openLink(location.href);
  else if (location.hash === "#bench") show("bench");
}

async function begin() {
  await startWorker();
  known = (await send({ request: { do: "about" } })).value;
  $("version").textContent = known.version;
  $("formats").append(...known.formats.map((one) => make("li", { textContent: one.about })));
  fill("published", known.published.map((one) => [one.id, `${one.id}: ${one.board ?? one.source}`]));
  fill("form", known.forms.map((one) => [one.name, one.name]));
  fill("kind", known.kinds.map((name) => [name, name]));
  fill("export", known.exports.map((one) => [one.name, `${one.name}: ${one.about}`]));
  fill("example", known.switches.map((name) => [name, name]));
  // The path of a file on the reader's disk is not an address for others.
  $("base").value = location.protocol === "file:" ? "tardy.html" : location.href.split("#")[0];
  connect();
  await openFragment();
  document.documentElement.dataset.ready = "yes";
}

begin().catch(fail);
