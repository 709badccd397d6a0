// SPDX-License-Identifier: Apache-2.0
// What others do on the same Redis: pairs of acquire and release per second, of redlock and of a
// bare pair of commands with ioredis (SET NX PX, and a script that deletes if it is still ours).
// Neither has a fence. N workers on names of their own, one connection, both libraries as they come.
//
// node pairs.mjs PORT SECONDS N...     prints one line of JSON per peer and N, as redis_probe does

import { randomUUID } from "node:crypto";
import { performance } from "node:perf_hooks";
import Redis from "ioredis";
import Redlock from "redlock";

const TTL_MS = 30_000;
const DELETE_IF_OURS =
  "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";

const PEERS = {
  redlock(client) {
    const locks = new Redlock([client], { retryCount: 0 });
    return async (name) => {
      const lock = await locks.acquire([name], TTL_MS);
      await lock.release();
    };
  },
  ioredis(client) {
    client.defineCommand("deleteIfOurs", { numberOfKeys: 1, lua: DELETE_IF_OURS });
    return async (name) => {
      const owner = randomUUID();
      const taken = await client.set(name, owner, "PX", TTL_MS, "NX");
      if (taken !== "OK") throw new Error(`${name} was not free`);
      const freed = await client.deleteIfOurs(name, owner);
      if (freed !== 1) throw new Error(`${name} was not ours`);
    };
  },
};

/** Has the workers do pairs for so long; how long each took, in µs. */
async function run(pair, names, seconds) {
  const times = [];
  const until = performance.now() + seconds * 1000;
  await Promise.all(
    names.map(async (name) => {
      for (let now = performance.now(); now < until; ) {
        await pair(name);
        const done = performance.now();
        times.push((done - now) * 1000);
        now = done;
      }
    }),
  );
  return times.sort((a, b) => a - b);
}

async function measure(peer, port, concurrency, seconds) {
  const client = new Redis({ host: "127.0.0.1", port });
  try {
    const pair = PEERS[peer](client);
    const names = Array.from({ length: concurrency }, (_, i) => `${peer}-${process.pid}-${i}`);
    await run(pair, names, seconds / 10); // to warm up
    const cpu = process.cpuUsage();
    const start = performance.now();
    const times = await run(pair, names, seconds);
    const took = (performance.now() - start) / 1000;
    const used = process.cpuUsage(cpu);
    return {
      peer,
      concurrency,
      pairs_per_s: Math.round(times.length / took),
      p50_us: Number(times[Math.floor(times.length / 2)].toFixed(1)),
      p99_us: Number(times[Math.floor(times.length * 0.99)].toFixed(1)),
      cpu_us_per_pair: Number(((used.user + used.system) / times.length).toFixed(2)),
    };
  } finally {
    client.disconnect();
  }
}

const [port, seconds, ...counts] = process.argv.slice(2).map(Number);
if (![port, seconds, ...counts].every((n) => n > 0) || counts.length === 0) {
  console.error("usage: node pairs.mjs PORT SECONDS N...");
  process.exit(2);
}
for (const concurrency of counts) {
  for (const peer of Object.keys(PEERS)) {
    console.log(JSON.stringify(await measure(peer, port, concurrency, seconds)));
  }
}
