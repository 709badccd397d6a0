// SPDX-License-Identifier: Apache-2.0
// BullMQ: 200 at a time, and nothing is kept of completed tasks.
import { Queue, Worker } from "bullmq";
import Redis from "ioredis";

const name = "bench";

export async function open(url) {
  const connection = new Redis(url, { maxRetriesPerRequest: null });
  const queue = new Queue(name, { connection, defaultJobOptions: { removeOnComplete: true } });
  await queue.waitUntilReady();
  return {
    bulk: (payloads) => queue.addBulk(payloads.map((data) => ({ name: "noop", data }))),
    add: (payload) => queue.add("noop", payload),
    empty: async () => {
      const left = await queue.getJobCounts("wait", "active", "prioritized", "delayed");
      return Object.values(left).every((count) => count === 0);
    },
    close: async () => {
      await queue.close();
      connection.disconnect();
    },
  };
}

export async function work(url, handler) {
  const connection = new Redis(url, { maxRetriesPerRequest: null });
  const worker = new Worker(name, (job) => handler(job.data), { connection, concurrency: 200 });
  worker.on("error", () => {});
  await worker.waitUntilReady();
}
