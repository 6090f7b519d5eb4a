// Drives the page as a person would, from disk: opens files, compares, judges, draws, saves, shares, opens the link in another
// profile, edits a switch. Counts requests (none), console messages (none) and what axe complains of (nothing).
// Usage: node as-a-person.mjs REPOSITORY PAGE DIRECTORY-FOR-PICTURES
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const [repository, path, pictures] = process.argv.slice(2).map((one) => resolve(one));
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
  assert.match(report.toString(), /^<!doctype html>/);
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
  await page.waitForFunction(() => document.querySelectorAll("#modes svg").length === 2, null, { timeout: 30000 });
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
await aSwitchIsEdited();
await browser.close();
rmSync(work, { recursive: true });
console.log(`the page: no request, no message in the console, no complaint of axe; ${((performance.now() - begun) / 1000).toFixed(1)} s`);
