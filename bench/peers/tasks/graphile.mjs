// SPDX-License-Identifier: Apache-2.0
// graphile-worker: a local queue, and completions in batches.
import pg from "pg";
import { Logger, makeWorkerUtils, run } from "graphile-worker";

const quiet = new Logger(() => () => {});
const settings = {
  worker: {
    localQueue: { size: 500, refetchDelay: { durationMs: 10 } },
    completeJobBatchDelay: 0,
    failJobBatchDelay: 0,
    concurrentJobs: 24,
    maxPoolSize: 24,
  },
};

function poolOf(url, max) {
  const pool = new pg.Pool({ connectionString: url, max });
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
}

export async function open(url) {
  const pool = poolOf(url, 20);
  const utils = await makeWorkerUtils({ pgPool: pool, logger: quiet });
  await utils.migrate();
  return {
    bulk: (payloads) =>
      utils.addJobs(payloads.map((payload) => ({ identifier: "noop", payload }))),
    add: (payload) => utils.addJob("noop", payload),
    empty: async () =>
      (await pool.query("SELECT 1 FROM graphile_worker._private_jobs LIMIT 1")).rowCount === 0,
    close: async () => {
      await utils.release();
      await pool.end();
    },
  };
}

export async function work(url, handler) {
  await run({
    pgPool: poolOf(url, 24),
    logger: quiet,
    noHandleSignals: true,
    preset: settings,
    taskList: { noop: handler },
  });
}
