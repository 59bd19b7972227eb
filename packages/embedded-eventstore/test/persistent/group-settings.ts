import type { GroupSettings } from '../../persistent/group-settings.ts'

/** A group of the stream `orders` with small buffers, which notes its place after each message. */
export const smallGroup: GroupSettings = {
  source: { kind: 'stream', stream: 'orders' },
  group: 'group',
  resolveLinks: false,
  startPosition: '0',
  extraStatistics: false,
  messageTimeout: 1,
  maxRetryCount: 10,
  checkpointAfter: 1,
  minCheckpointCount: 1,
  maxCheckpointCount: 1_000,
  maxSubscriberCount: 0,
  liveBufferSize: 10,
  readBatchSize: 10,
  historyBufferSize: 20,
  strategy: 'RoundRobin',
}
