// Drives the pages of a server as a person would: finds a board, reads its trend, compares two runs, follows a change, sets the state of
// an alert. Counts console messages, requests to other servers and what axe complains of: none of each. Wide and narrow, light and dark,
// by keyboard. Saves pictures.
// Usage: node as-a-person.mjs REPOSITORY DIRECTORY-FOR-PICTURES TARDY
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const [repository, pictures, tardy] = process.argv.slice(2).map((one) => resolve(one));
const require = createRequire(join(pictures, "package.json"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const work = mkdtempSync(join(tmpdir(), "tardy-server-"));
const archive = join(work, "archive");

// Two boards with twenty runs each. The runs of one become later, with another kernel, at the fourteenth.
function makeArchive() {
  const example = JSON.parse(readFileSync(join(repository, "examples/standard.run.json"), "utf8"));
  const runs = join(work, "runs");
  mkdirSync(runs);
  for (const board of ["rack3", "rack4"]) {
    for (let number = 1; number <= 20; number++) {
      const run = structuredClone(example);
      // A board, not an emulated machine.
      delete run.lab;
      Object.assign(run.origin, { id: `${board}-${number}`, name: `nightly ${number}`, host: board });
      run.origin.started_at = `2026-10-${String(number).padStart(2, "0")}T02:00:00Z`;
      const isLater = board === "rack3" && number >= 14;
      const factor = (isLater ? 0.87 : 0.6) * [1.0, 1.03, 0.98, 1.01, 0.97][number % 5];
      for (const series of run.series) {
        const maxima = series.block_maxima.maxima_ns;
        series.block_maxima.maxima_ns = maxima.map((ns) => (ns === null ? null : Math.trunc(ns * factor)));
      }
      if (isLater) run.facts.kernel.release.value = "6.12.999-slower";
      writeFileSync(join(runs, `${board}-${number}.run.json`), JSON.stringify(run));
    }
  }
  execFileSync(tardy, ["archive", "add", archive, runs], { stdio: "ignore" });
  mkdirSync(join(archive, "server"), { recursive: true });
  writeFileSync(join(archive, "server/alerts.toml"), '[[rule]]\nname = "slower"\nchange = "worse"\n');
}

// Starts the server, and returns it with its address.
async function started() {
  const server = spawn(tardy, ["serve", archive, "--listen", "127.0.0.1:0"], { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  for await (const part of server.stderr) {
    said += part;
    const found = said.match(/http:\/\/[^/]+/);
    if (found) return { server, address: found[0] };
  }
  throw new Error(`the server did not start: ${said}`);
}

makeArchive();
const token = execFileSync(tardy, ["archive", "token", archive, "--make", "anna", "--scope", "triage"], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
const { server, address } = await started();
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });

// A page in a profile of its own, with everything that it must not do.
async function opened(options = {}) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...options });
  const page = await context.newPage();
  const wrong = [];
  page.on("console", (message) => wrong.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => wrong.push(`error: ${error.message}`));
  page.on("request", (request) => {
    if (!/^(blob|data|about):/.test(request.url()) && !request.url().startsWith(address)) wrong.push(`request: ${request.url()}`);
  });
  await page.goto(address);
  return { page, wrong, context };
}

async function accessible(page, what) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { iframes: false }));
  assert.deepEqual(violations.map((one) => `${one.id}: ${one.nodes[0].html}`), [], what);
}

async function fits(page, what) {
  const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(content <= window, `${what}: ${content} px in a window of ${window}`);
}

async function looked(page, name) {
  await accessible(page, name);
  await fits(page, name);
  await page.screenshot({ path: join(pictures, `server-${name}.png`), fullPage: true });
}

const text = (page) => page.locator("main").innerText();

// Waits until a page says something, since alerts and changes are found in the background.
async function until(page, path, expected) {
  const end = Date.now() + 60000;
  for (;;) {
    await page.goto(address + path);
    if ((await text(page)).includes(expected)) return;
    assert.ok(Date.now() < end, `${path} does not say '${expected}'`);
    await page.waitForTimeout(100);
  }
}

async function findsABoardItsTrendAndItsChange() {
  const { page, wrong, context } = await opened();
  await until(page, "/", "1 pending");
  await until(page, "/", "Newest changes");
  await looked(page, "overview");
  await page.getByRole("link", { name: /rack3/ }).first().click();
  await page.waitForURL(/boards\/rack3/);
  assert.match(await text(page), /Run 14, nightly 14/);
  assert.match(await text(page), /6\.12\.999-slower/, "what changed there");
  await looked(page, "board");
  await page.getByRole("button", { name: "Compare" }).click();
  await page.waitForURL(/compare\.html\?base=[0-9a-f]{64}&candidate=[0-9a-f]{64}/);
  assert.match(await text(page), /nightly 20/);
  await page.screenshot({ path: join(pictures, "server-comparison.png") });
  await page.goBack();
  await page.getByRole("link", { name: "20 nightly 20" }).click();
  await page.waitForURL(/runs\/[0-9a-f]{64}\.html/);
  assert.deepEqual(wrong, []);
  await context.close();
}

async function searchesByKeyboard() {
  const { page, wrong, context } = await opened();
  await page.goto(`${address}/search.html`);
  await page.getByLabel("board").focus();
  await page.keyboard.type("rack4");
  await page.keyboard.press("Enter");
  await page.waitForURL(/board=rack4/);
  assert.match(await text(page), /20 runs, the newest first/);
  await page.getByLabel("since").fill("yesterday");
  await page.keyboard.press("Enter");
  await page.waitForURL(/since=yesterday/);
  assert.match(await text(page), /'yesterday' is not a day; expected one as 2026-11-26/);
  await looked(page, "search");
  await page.getByLabel("since").fill("2026-10-19");
  await page.getByRole("button", { name: "Find runs" }).click();
  await page.waitForURL(/since=2026-10-19/);
  assert.match(await text(page), /2 runs, the newest first/);
  assert.deepEqual(wrong, []);
  await context.close();
}

async function setsTheStateOfAnAlert() {
  const { page, wrong, context } = await opened({ httpCredentials: { username: "anna", password: token } });
  await page.goto(`${address}/alerts.html`);
  await looked(page, "alerts");
  await page.getByRole("link", { name: "slower" }).click();
  await page.waitForURL(/alerts\/[0-9a-f]{16}\.html/);
  await page.getByLabel("new state").selectOption("acknowledged");
  await page.getByLabel("note").fill("<b>a new cable</b>");
  await page.getByRole("button", { name: "Set the state" }).click();
  await page.waitForSelector("text=<b>a new cable</b>");
  assert.match(await text(page), /acknowledged\s+anna/);
  await looked(page, "alert");
  assert.deepEqual(wrong.filter((one) => !one.includes("401")), [], "a browser asks without a password first");
  await context.close();
}

async function isReadableOnAPhoneAndInTheDark() {
  const { page, wrong, context } = await opened({ viewport: { width: 390, height: 844 }, colorScheme: "dark" });
  for (const [path, name] of [["/", "overview"], ["/alerts.html", "alerts"], ["/search.html", "search"]]) {
    await page.goto(address + path);
    await looked(page, `${name}-phone-dark`);
  }
  await page.goto(address);
  await page.getByRole("link", { name: /rack3/ }).first().click();
  await looked(page, "board-phone-dark");
  assert.deepEqual(wrong, []);
  await context.close();
}

try {
  for (const test of [findsABoardItsTrendAndItsChange, searchesByKeyboard, setsTheStateOfAnAlert, isReadableOnAPhoneAndInTheDark]) {
    await test();
    console.log(`${test.name}: passed`);
  }
} finally {
  await browser.close();
  server.kill();
  rmSync(work, { recursive: true });
}
