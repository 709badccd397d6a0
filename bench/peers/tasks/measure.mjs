// SPDX-License-Identifier: Apache-2.0
// measure.mjs PEER URL bulk COUNT CHUNK | single COUNT IN_FLIGHT | drain COUNT PROCESSES | pickup COUNT
// Prints one line of JSON. README.md says what is measured.
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";

const [peer, url, what, count, several] = [
  ...process.argv.slice(2, 5),
  Number(process.argv[5]),
  Number(process.argv[6] ?? 1),
];
const { open, work } = await import(`./${peer}.mjs`);
const now = () => Number(process.hrtime.bigint()) / 1e6; // all processes have the same
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const padding = "x".repeat(Number(process.env.PAYLOAD_BYTES ?? 0));
const payload = (i) => (padding ? { i, padding } : { i });

async function addMany(store, total, chunk) {
  for (let done = 0; done < total; done += chunk) {
    const size = Math.min(chunk, total - done);
    await store.bulk(Array.from({ length: size }, (_, i) => payload(done + i)));
  }
}

async function bulk(store) {
  await addMany(store, 1000, 1000);
  const began = now();
  await addMany(store, count, several);
  return { rate: (count / (now() - began)) * 1000 };
}

async function single(store) {
  let left = count;
  const caller = async () => {
    while (left-- > 0) await store.add(payload(left));
  };
  await Promise.all(Array.from({ length: several }, () => store.add(payload(0))));
  const began = now();
  await Promise.all(Array.from({ length: several }, caller));
  return { rate: (count / (now() - began)) * 1000 };
}

/// Starts processes of workers; `heard` gets what they say.
function start(processes, heard) {
  return Array.from({ length: processes }, () => {
    const child = fork(fileURLToPath(import.meta.url), [peer, url, "work", "0"]);
    child.on("message", heard);
    return child;
  });
}

/// What such a process does: tells when its first task began and how many it has done, or of each
/// when it was added and begun.
async function serve() {
  let first = 0;
  let done = 0;
  let told = 0;
  setInterval(() => {
    if (done === told) return;
    told = done;
    process.send({ first, done, cpu: process.cpuUsage(), pid: process.pid });
  }, 2);
  process.on("disconnect", () => process.exit(0));
  await work(url, async (task) => {
    first ||= now();
    if (task.at) process.send({ took: now() - task.at });
    done += 1;
  });
  process.send({ ready: true });
}

async function drain(store) {
  await addMany(store, count, 10000);
  const by = new Map();
  const workers = start(several, (said) => said.pid && by.set(said.pid, said));
  const done = () => [...by.values()].reduce((sum, one) => sum + one.done, 0);
  while (done() < count) await pause(2);
  while (!(await store.empty())) await pause(2);
  const took = now() - Math.min(...[...by.values()].map((one) => one.first));
  workers.forEach((worker) => worker.kill("SIGKILL"));
  const cpu = [...by.values()].reduce((sum, { cpu }) => sum + cpu.user + cpu.system, 0);
  return { rate: (count / took) * 1000, cpu_us: cpu / count };
}

async function pickup(store) {
  const times = [];
  let ready = false;
  const workers = start(1, (said) => {
    if (said.took) times.push(said.took);
    ready ||= said.ready;
  });
  while (!ready) await pause(5);
  await pause(500);
  for (let i = 0; i < count; ++i) {
    await store.add({ i, at: now() });
    while (times.length <= i) await pause(1);
    await pause(20 + Math.random() * 20);
  }
  workers.forEach((worker) => worker.kill("SIGKILL"));
  times.sort((a, b) => a - b);
  return { p50_ms: times[times.length >> 1], p99_ms: times[Math.floor(times.length * 0.99)] };
}

if (what === "work") {
  await serve();
} else {
  const store = await open(url);
  const result = await { bulk, single, drain, pickup }[what](store);
  console.log(JSON.stringify({ peer, what, ...result }));
  await store.close();
  process.exit(0);
}
