import { sealingUnderLoad } from './audit/sealing-under-load.ts'
import { verifyLogBench } from './audit/verify.ts'
import { backupCreate } from './backup/create.ts'
import { workflowAdvances } from './commands/advances.ts'
import { inlineCreates } from './commands/inline-creates.ts'
import { commandsOnLongStreams } from './commands/long-streams.ts'
import { commandsOnNewStreams } from './commands/new-streams.ts'
import { commandsOverPeer } from './commands/peer.ts'
import { onRealEventStore } from './commands/real-event-store.ts'
import type { Benchmark } from './harness/benchmark.ts'
import { eventStoreNode } from './node/node-benchmarks.ts'
import { deadMailServer } from './notifications/dead-mail-server.ts'
import { eventToMail } from './notifications/event-to-mail.ts'
import { sentMails } from './notifications/mails.ts'
import { failingWork } from './operations/failing-work.ts'
import { rebuildAll } from './projections/all-at-once.ts'
import { readGrowth } from './projections/get-growth.ts'
import { rebuildMemory, rebuildTime } from './projections/growth.ts'
import { rebuildBeside } from './projections/rebuild-beside.ts'
import { rebuildOverPeer } from './projections/rebuild-peer.ts'
import { rebuildSpeed } from './projections/rebuild-speed.ts'
import { accessLog } from './reads/access-log.ts'
import { actorContexts } from './reads/actor-contexts.ts'
import { readById } from './reads/by-id.ts'
import { eventFeed } from './reads/feed.ts'
import { idleFeeds } from './reads/idle-feeds.ts'
import { pastAnswers } from './reads/past.ts'
import { openTasks } from './reads/open-tasks.ts'
import { revokedTokens } from './reads/revoked-tokens.ts'
import { sealedList } from './reads/sealed-list.ts'
import { visibleAfter } from './reads/visible.ts'
import { platformStart } from './start/platform-start.ts'
import { deadEndpoint } from './webhooks/dead-endpoint.ts'
import { webhookDeliveries } from './webhooks/deliveries.ts'
import { endToEnd } from './webhooks/end-to-end.ts'
import { mainJobCost, mainJobOverDbos, mainJobWithTraces } from './webhooks/main-job-cost.ts'

/** Every benchmark, in the order of a full run. */
export const benchmarks: readonly Benchmark[] = [
  commandsOnNewStreams,
  commandsOnLongStreams,
  commandsOverPeer,
  workflowAdvances,
  inlineCreates,
  sealingUnderLoad,
  verifyLogBench,
  backupCreate,
  platformStart,
  eventStoreNode,
  onRealEventStore,
  readById,
  pastAnswers,
  accessLog,
  sealedList,
  revokedTokens,
  openTasks,
  failingWork,
  actorContexts,
  visibleAfter,
  eventFeed,
  idleFeeds,
  rebuildSpeed,
  rebuildOverPeer,
  rebuildAll,
  rebuildBeside,
  rebuildMemory,
  rebuildTime,
  readGrowth,
  mainJobCost,
  mainJobOverDbos,
  mainJobWithTraces,
  endToEnd,
  webhookDeliveries,
  deadEndpoint,
  sentMails,
  eventToMail,
  deadMailServer,
]
