// SPDX-License-Identifier: Apache-2.0
// Holds a lock by SyncGuard, for tests/compare: `node holder.mjs PORT TTL_MS RETRY_MS`. Says `holding
// FENCE ARGUMENTS`, the number of arguments that lock() gave its function. Lets go when its stdin
// ends. holder.cpp is the same with Holt.

import { once } from "node:events";
import Redis from "ioredis";
import { lock } from "syncguard";
import { createRedisBackend } from "syncguard/redis";

const [port, ttlMs, retryDelayMs] = process.argv.slice(2).map(Number);
const redis = new Redis({ port, host: "127.0.0.1" });
const backend = createRedisBackend(redis);
const acquisition = {
  maxRetries: 1e6,
  timeoutMs: 1e8,
  retryDelayMs,
  backoff: "fixed",
  jitter: "none",
};

console.log("waiting");
await lock(
  backend,
  async (...given) => {
    const { fence } = await backend.lookup({ key: "x" });
    console.log(`holding ${fence} ${given.length}`);
    process.stdin.resume();
    await once(process.stdin, "end");
  },
  { key: "x", ttlMs, acquisition },
);
console.log("released");
redis.disconnect();
