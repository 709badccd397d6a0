// SPDX-License-Identifier: Apache-2.0
// pg-boss: batches of 1000, fetched one after the other while they are full, its own partition, and
// LISTEN. A handler gets a batch; it goes through its tasks one by one.
import pg from "pg";
import { PgBoss } from "pg-boss";

const queue = "bench";

async function started(url) {
  const boss = new PgBoss({
    connectionString: url,
    max: 20,
    supervise: false,
    schedule: false,
    useListenNotify: true,
  });
  boss.on("error", () => {});
  await boss.start();
  if (!(await boss.getQueue(queue))) await boss.createQueue(queue, { partition: true, notify: true });
  return boss;
}

export async function open(url) {
  const boss = await started(url);
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  return {
    bulk: (payloads) => boss.insert(queue, payloads.map((data) => ({ data }))),
    add: (payload) => boss.send(queue, payload),
    empty: async () => {
      const left = "SELECT 1 FROM pgboss.job WHERE name = $1 AND state < 'completed' LIMIT 1";
      return (await pool.query(left, [queue])).rowCount === 0;
    },
    close: async () => {
      await pool.end();
      await boss.stop({ graceful: false });
    },
  };
}

export async function work(url, handler) {
  const boss = await started(url);
  const options = {
    batchSize: 1000,
    localConcurrency: 2,
    burstWhenBatchFull: true,
    pollingIntervalSeconds: 0.5,
  };
  await boss.work(queue, options, async (jobs) => {
    for (const job of jobs) await handler(job.data);
  });
}
