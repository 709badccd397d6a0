// SPDX-License-Identifier: Apache-2.0
// Holds a lock by SyncGuard, for tests/compare: `node holder.mjs WHERE TTL_MS RETRY_MS`, WHERE the
// port of a Redis or the URL of a PostgreSQL. Says `holding FENCE ARGUMENTS`, the number of arguments
// that lock() gave its function. Lets go when its stdin ends. holder.cpp is the same with Holt.

import { once } from "node:events";
import { lock } from "syncguard";

async function onRedis(port) {
  const { default: Redis } = await import("ioredis");
  const { createRedisBackend } = await import("syncguard/redis");
  const redis = new Redis({ port: Number(port), host: "127.0.0.1" });
  return [createRedisBackend(redis), () => redis.disconnect()];
}

async function onPostgres(url) {
  const { default: postgres } = await import("postgres");
  const { createPostgresBackend, setupSchema } = await import("syncguard/postgres");
  const sql = postgres(url, { onnotice: () => {} });
  await setupSchema(sql);
  return [createPostgresBackend(sql), () => sql.end()];
}

const [where, ttl, retry] = process.argv.slice(2);
const ttlMs = Number(ttl);
const retryDelayMs = Number(retry);
const open = where.startsWith("postgres:") ? onPostgres : onRedis;
const [backend, close] = await open(where);
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
await close();
