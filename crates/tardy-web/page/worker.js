"use strict";
// The worker: instantiates the module, answers one request after the other, and reads the reader's files part by part.
const FAILED = -1;
const PROGRESS_MS = 100;
const reader = new FileReaderSync();
// Parts of a file are sent where nobody listens, which frees their memory at once: left to the collector, those of a gigabyte take 340 MB.
const away = new MessageChannel();
away.port2.close();
let tardy = null;
let file = null;
let panic = "";
let reported = 0;

function read(from, to, length) {
  if (!file) return 0;
  try {
    const part = reader.readAsArrayBuffer(file.slice(from, from + length));
    const read = part.byteLength;
    new Uint8Array(tardy.memory.buffer).set(new Uint8Array(part), to);
    away.port1.postMessage(part, [part]);
    const now = performance.now();
    if (now - reported > PROGRESS_MS) {
      reported = now;
      postMessage({ progress: from + read, of: file.size });
    }
    return read;
  } catch {
    return FAILED;
  }
}

function keepPanic(text, length) {
  panic = new TextDecoder().decode(new Uint8Array(tardy.memory.buffer, text, length));
}

function answer(request) {
  const bytes = new TextEncoder().encode(JSON.stringify(request));
  const room = tardy.tardy_room(bytes.length);
  new Uint8Array(tardy.memory.buffer).set(bytes, room);
  const length = tardy.tardy_answer() >>> 0;
  const output = new Uint8Array(tardy.memory.buffer, tardy.tardy_output() >>> 0, length);
  const head = new DataView(output.buffer, output.byteOffset, 4).getUint32(0, true);
  const value = JSON.parse(new TextDecoder().decode(output.subarray(4, 4 + head)));
  return { ...value, content: output.slice(4 + head) };
}

onmessage = async ({ data }) => {
  try {
    if (data.module) {
      const env = { tardy_read: read, tardy_panicked: keepPanic };
      tardy = (await WebAssembly.instantiate(data.module, { env })).instance.exports;
      postMessage({ id: data.id });
      return;
    }
    file = data.file ?? null;
    const result = answer(data.request);
    postMessage({ id: data.id, memory: tardy.memory.buffer.byteLength, ...result }, [result.content.buffer]);
  } catch (error) {
    const what = panic || String(error);
    postMessage({ id: data.id, broken: true, error: `an error in tardy itself: ${what}; report it with the file` });
  } finally {
    file = null;
  }
};
