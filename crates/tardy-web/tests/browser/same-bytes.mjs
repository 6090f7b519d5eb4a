// The report of every fixture and every example, made by the module in Node and by the command line: the same bytes. Both
// have the file's bare name, which is in the run's id. Usage: node same-bytes.mjs REPOSITORY WASM TARDY
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";

const [repository, wasm, tardy] = process.argv.slice(2).map((one) => resolve(one));
let module = null;
let file = Buffer.alloc(0);
const env = {
  tardy_read(from, to, length) {
    const part = file.subarray(from, from + length);
    new Uint8Array(module.memory.buffer).set(part, to);
    return part.length;
  },
  tardy_panicked(text, length) {
    console.error(Buffer.from(module.memory.buffer, text, length).toString());
  },
};
const compiled = new WebAssembly.Module(readFileSync(wasm));

function ask(request) {
  const bytes = Buffer.from(JSON.stringify(request));
  const room = module.tardy_room(bytes.length);
  new Uint8Array(module.memory.buffer).set(bytes, room);
  const length = module.tardy_answer();
  const output = Buffer.from(Buffer.from(module.memory.buffer, module.tardy_output(), length));
  const head = output.readUInt32LE(0);
  const { value, error } = JSON.parse(output.subarray(4, 4 + head));
  if (error) throw new Error(error);
  return { value, content: output.subarray(4 + head) };
}

const work = mkdtempSync(join(tmpdir(), "tardy-page-"));
const fixtures = join(repository, "crates/tardy-formats/tests/fixtures");
const runs = join(repository, "examples");
const files = [
  ...readdirSync(fixtures).map((name) => join(fixtures, name)),
  ...readdirSync(runs).filter((name) => name.endsWith(".run.json")).map((name) => join(runs, name)),
];
let differ = 0;
let longest = 0;
for (const path of files) {
  const name = basename(path);
  module = new WebAssembly.Instance(compiled, { env }).exports;
  file = readFileSync(path);
  let run = path;
  let answer = ask({ do: "add", name, options: {} }).value;
  let unit = "";
  if (answer.refused.some((one) => one.asks.includes("unit"))) {
    unit = "us";
    answer = ask({ do: "add", name, options: { unit } }).value;
  }
  if (!name.endsWith(".run.json")) {
    run = join(work, `${name}.run.json`);
    // An invalid run is written too, with another status.
    spawnSync(tardy, ["import", name, "-o", run, ...(unit ? ["--unit", unit] : [])], { cwd: fixtures, stdio: ["ignore", "ignore", "pipe"] });
  }
  const begun = performance.now();
  const here = ask({ do: "report", runs: [answer.runs[0].number], published: [] }).content.toString();
  longest = Math.max(longest, performance.now() - begun);
  const page = join(work, `${name}.html`);
  execFileSync(tardy, ["report", run, "-o", page], { stdio: "ignore" });
  const there = readFileSync(page, "utf8");
  if (here !== there) {
    differ += 1;
    const at = [...here].findIndex((sign, index) => sign !== there[index]);
    console.error(`${name}: differs at ${at}: ${here.slice(at - 60, at + 60)} | ${there.slice(at - 60, at + 60)}`);
  }
}
rmSync(work, { recursive: true });
console.log(`${files.length} reports, ${files.length - differ} with the bytes of the command line; the longest took ${longest.toFixed(0)} ms`);
process.exit(differ > 0 || files.length < 60 ? 1 : 0);
