// Drives the page as a person would, from disk: opens and drops files, cancels, compares, judges, draws, saves, shares, opens the
// link in another profile, edits a switch. Counts requests (none), console messages (none) and what axe complains of (nothing).
// Compares saved reports with those of the command line.
// Usage: node as-a-person.mjs REPOSITORY PAGE DIRECTORY-FOR-PICTURES TARDY
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";

const [repository, path, pictures, tardy] = process.argv.slice(2).map((one) => resolve(one));
const require = createRequire(join(pictures, "package.json"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const fixture = (name) => join(repository, "crates/tardy-formats/tests/fixtures", name);
const example = (name) => join(repository, `examples/${name}.run.json`);
const address = `file://${path}`;
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
const work = mkdtempSync(join(tmpdir(), "tardy-page-"));

// A page in a profile of its own, with everything that it must not do.
async function opened(options = {}, fragment = "") {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, acceptDownloads: true, ...options });
  const page = await context.newPage();
  const wrong = [];
  page.on("console", (message) => wrong.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => wrong.push(`error: ${error.message}`));
  page.on("request", (request) => {
    if (!/^(blob|data|about):/.test(request.url()) && !request.url().startsWith(address)) wrong.push(`request: ${request.url()}`);
  });
  page.on("framenavigated", (frame) => {
    if (frame === page.mainFrame() && !frame.url().startsWith(address)) wrong.push(`navigation: ${frame.url()}`);
  });
  await page.goto(address + fragment);
  await page.waitForSelector("html[data-ready]", { timeout: 60000 });
  return { page, wrong, context };
}

const runs = (page, count) => page.waitForFunction((count) => document.querySelectorAll("#list tbody tr").length === count, count);
const failure = (page) => page.waitForSelector("#failure:not([hidden])").then((element) => element.textContent());

async function accessible(page, what) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { iframes: false }));
  assert.deepEqual(violations.map((one) => `${one.id}: ${one.nodes[0].html}`), [], what);
}

async function saved(page, button) {
  const [download] = await Promise.all([page.waitForEvent("download"), page.click(button)]);
  const to = join(work, download.suggestedFilename());
  await download.saveAs(to);
  return readFileSync(to);
}

// The report of these files that the command line makes; other tools' files are imported first.
function reportOf(paths) {
  const run = (one) => {
    if (one.endsWith(".run.json")) return one;
    const to = join(work, `${basename(one)}.run.json`);
    // An invalid run is written too, with another status. The file's bare name is in the run's id.
    spawnSync(tardy, ["import", basename(one), "-o", to, "--force"], { cwd: dirname(one), stdio: "ignore" });
    return to;
  };
  const to = join(work, "of-the-command-line.html");
  execFileSync(tardy, ["report", ...paths.map(run), "-o", to, "--force"], { stdio: "ignore" });
  return readFileSync(to, "utf8");
}

// Fails, with the first difference, if a saved report does not have the bytes of the command line's.
function same(report, paths) {
  const [here, there] = [report.toString(), reportOf(paths)];
  if (here === there) return;
  const at = [...here].findIndex((sign, index) => sign !== there[index]);
  assert.fail(`${paths}: differs at ${at}: ${here.slice(at - 60, at + 60)} | ${there.slice(at - 60, at + 60)}`);
}

async function reportsHaveTheBytesOfTheCommandLine() {
  const { page, wrong, context } = await opened();
  const names = ["cyclictest-2.4.json", "hwlatdetect.txt", "oslat-2.4.txt", "rteval-summary.xml", "rtla-timerlat-hist.txt", "xenomai-plot.txt"];
  for (const path of [...names.map(fixture), example("rt")]) {
    await page.setInputFiles("#files", path);
    await runs(page, 1);
    await page.click("#make-report");
    await page.waitForSelector("#save-report:not([disabled])");
    same(await saved(page, "#save-report"), [path]);
    await page.locator("#list tbody button").click();
    await runs(page, 0);
    await page.reload();
    await page.waitForSelector("html[data-ready]", { timeout: 60000 });
  }
  assert.deepEqual(wrong, []);
  await context.close();
}

// Drops files as the browser does when they come from another window.
async function drop(page, context, paths) {
  const { x, y, width, height } = await page.locator("#drop").boundingBox();
  const at = { x: x + width / 2, y: y + height / 2, data: { items: [], files: paths, dragOperationsMask: 1 } };
  const session = await context.newCDPSession(page);
  for (const type of ["dragEnter", "dragOver"]) await session.send("Input.dispatchDragEvent", { type, ...at });
  await page.waitForSelector("#drop.over");
  await session.send("Input.dispatchDragEvent", { type: "drop", ...at });
  await page.waitForSelector("#drop:not(.over)");
}

async function filesAndDirectoriesAreDropped() {
  const { page, wrong, context } = await opened();
  await drop(page, context, [example("standard"), example("rt")]);
  await runs(page, 2);
  const directory = join(work, "dropped/inner");
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, "cyclictest.json"), readFileSync(fixture("cyclictest-2.4.json")));
  await drop(page, context, [join(work, "dropped")]);
  await runs(page, 3);
  assert.match(await page.textContent("#list"), /cyclictest/);
  assert.deepEqual(wrong, []);
  await context.close();
}

// A file of cyclictest's samples that takes seconds to read.
function largeFile() {
  const path = join(work, "large.txt");
  const file = openSync(path, "w");
  const lines = 100000;
  for (let first = 0; first < 8e6; first += lines) {
    const line = (_, index) => `       0:${String(first + index).padStart(8)}:${String(7 + (index % 5)).padStart(8)}\n`;
    writeSync(file, Array.from({ length: lines }, line).join(""));
  }
  closeSync(file);
  return path;
}

async function anImportIsCancelled() {
  const { page, wrong, context } = await opened();
  await page.setInputFiles("#files", example("rt"));
  await runs(page, 1);
  await page.setInputFiles("#files", largeFile());
  const asked = page.locator("#refused li", { hasText: "--unit us" });
  await asked.locator("select").first().selectOption("us");
  await asked.getByRole("button", { name: "Read it again" }).click();
  await page.waitForFunction(() => document.querySelector("#working-bar").value > 0 && !document.querySelector("#working").hidden);
  assert.ok(await page.evaluate(() => document.querySelector("#working-bar").value < document.querySelector("#working-bar").max));
  await page.click("#cancel");
  assert.equal(await failure(page), "cancelled");
  await page.waitForSelector("#working", { state: "hidden" });
  await runs(page, 1);
  await page.click("#make-report");
  await page.waitForSelector("#save-report:not([disabled])");
  same(await saved(page, "#save-report"), [example("rt")]);
  assert.deepEqual(wrong, []);
  await context.close();
}

async function filesAreOpenedComparedAndJudged() {
  const { page, wrong, context } = await opened();
  await page.setInputFiles("#files", [example("standard"), example("rt"), fixture("columns-osadl.txt"), path]);
  await runs(page, 2);
  await page.waitForFunction(() => document.querySelectorAll("#refused li").length === 2);
  const asked = page.locator("#refused li", { hasText: "--unit us" });
  await asked.locator("select").first().selectOption("us");
  await asked.getByRole("button", { name: "Read it again" }).click();
  await runs(page, 3);
  await page.locator("#list tbody tr", { hasText: "columns-osadl" }).locator("input").uncheck();
  await page.click("#make-report");
  const frame = await (await page.waitForSelector("#frame[srcdoc]")).contentFrame();
  await frame.waitForSelector("main svg");
  await frame.locator("a[href='#run1']").first().click();
  await frame.waitForSelector("details#run1[open]");
  const report = await saved(page, "#save-report");
  // The page opens files in the order of their names.
  same(report, [example("rt"), example("standard")]);
  await page.fill("#require", "p99<100us\nmax<1us");
  await page.click("#judge");
  await page.waitForSelector("#outcome .failed");
  await page.click("#draw");
  await page.waitForFunction(() => document.querySelector("#figure img")?.naturalWidth > 100);
  const png = await saved(page, "#save-png");
  assert.equal(png.subarray(1, 4).toString(), "PNG");
  writeFileSync(join(pictures, "figure.png"), png);
  assert.match((await saved(page, "#save-svg")).toString(), /^<svg /);
  assert.match((await saved(page, "#save-data")).toString(), /,/);
  await page.selectOption("#export", "csv");
  assert.match((await saved(page, "#save-export")).toString(), /^[a-z_]+,/);
  assert.match((await saved(page, "#save-tables")).toString(), /^# /);
  await accessible(page, "with runs");
  await page.screenshot({ path: join(pictures, "runs-1200-light.png"), fullPage: true });
  await page.click("#share");
  const link = await (await page.waitForSelector("#shared .link")).textContent();
  await accessible(page, "with a link");
  assert.deepEqual(wrong, []);
  await context.close();
  return link;
}

async function theLinkOpensInAnotherProfile(link) {
  const fragment = link.slice(link.indexOf("#"));
  const { page, wrong, context } = await opened({ viewport: { width: 390, height: 844 }, colorScheme: "dark" }, fragment);
  await runs(page, 2);
  const frame = await (await page.waitForSelector("#frame[srcdoc]")).contentFrame();
  await frame.waitForSelector("main svg");
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `${wide} pixels wider than a telephone`);
  await accessible(page, "a link on a telephone, dark");
  await page.screenshot({ path: join(pictures, "link-390-dark.png"), fullPage: true });
  for (const [text, expected] of [[fragment.slice(0, -9), /cut short/], [fragment.replace("#r1.", "#r9."), /version 9/], ["#r1.", /cut short/]]) {
    await page.fill("#link", `tardy.html${text}`);
    await page.click("#open-link button");
    assert.match(await failure(page), expected);
  }
  assert.deepEqual(wrong, []);
  await context.close();
}

async function aDirectoryAndTheKeyboard() {
  const { page, wrong, context } = await opened({ colorScheme: "dark" });
  const directory = join(work, "directory/inner");
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, "samples.raw"), readFileSync(fixture("jitterdebugger-samples.raw")));
  writeFileSync(join(directory, "results.json"), readFileSync(fixture("jitterdebugger-results.json")));
  await page.setInputFiles("#directory", join(work, "directory"));
  await runs(page, 2);
  await page.focus("#make-report");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#frame[srcdoc]");
  await page.screenshot({ path: join(pictures, "runs-1200-dark.png") });
  assert.deepEqual(wrong, []);
  await context.close();
}

async function aSwitchIsEdited() {
  const { page, wrong, context } = await opened();
  await page.click("#show-bench");
  await page.waitForSelector("#gates svg");
  await page.click("#simulate");
  await page.waitForFunction(() => document.querySelectorAll("#modes svg").length === 4, null, { timeout: 30000 });
  await page.click("#plan");
  await page.waitForSelector("#plan-text pre");
  await accessible(page, "the bench");
  await page.screenshot({ path: join(pictures, "bench-1200-light.png"), fullPage: true });
  const text = await page.inputValue("#switch");
  await page.fill("#switch", text.replace("cycle_time", "cicle_time"));
  await page.waitForSelector("#gutter .refused");
  assert.match(await page.textContent("#findings"), /cycle_time/);
  await page.fill("#switch", text);
  await page.waitForFunction(() => !document.querySelector("#gutter .refused"));
  await page.click("#share-switch");
  const link = await (await page.waitForSelector("#switch-link .link")).textContent();
  const other = await opened({ viewport: { width: 390, height: 844 } }, link.slice(link.indexOf("#")));
  await other.page.waitForSelector("#gates svg");
  assert.equal(await other.page.inputValue("#switch"), text);
  const wide = await other.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `the bench is ${wide} pixels wider than a telephone`);
  await other.page.screenshot({ path: join(pictures, "bench-390-light.png"), fullPage: true });
  assert.deepEqual([...wrong, ...other.wrong], []);
  await other.context.close();
  await context.close();
}

const begun = performance.now();
const link = await filesAreOpenedComparedAndJudged();
await theLinkOpensInAnotherProfile(link);
await aDirectoryAndTheKeyboard();
await reportsHaveTheBytesOfTheCommandLine();
await filesAndDirectoriesAreDropped();
await anImportIsCancelled();
await aSwitchIsEdited();
await browser.close();
rmSync(work, { recursive: true });
console.log(`the page: no request, no message in the console, no complaint of axe; ${((performance.now() - begun) / 1000).toFixed(1)} s`);
