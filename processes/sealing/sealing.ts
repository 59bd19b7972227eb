import { isSealedStream } from '../../contracts/audit/sealed-events.ts'
import { newRecord } from '../../contracts/audit/log-record.ts'
import { runOnOneInstance } from '../../platform/database/single-instance.ts'
import type { EventStore } from '../../engine/store/event-store.ts'
import type { Configuration } from '../../platform/configuration/configuration.ts'
import type { Pool } from '../../platform/database/database.ts'
import { backoffMs, pause } from '../../platform/kit/backoff.ts'
import type { Logger } from '../../platform/observability/logging.ts'
import type { Egress } from '../../platform/outbound/egress.ts'
import { Witness } from '../adapters/witness.ts'
import { LogWriter, type SealingServers } from './log-writer.ts'
import { WitnessRounds, type WitnessStatus } from './witness-rounds.ts'

export interface SealingOptions extends Omit<SealingServers, 'store'> {
  readonly store: SealingServers['store'] & Pick<EventStore, 'readStoredLog'>
  readonly configuration: Pick<Configuration, 'sealIntervalSeconds' | 'witnesses' | 'witnessQuorum'>
  /** Name of the log, if it has none yet. */
  readonly origin: string
  readonly egress: Egress
  readonly pool: Pool | undefined
  readonly logger: Logger
  readonly now: () => Date
  /** New events are sealed when there are so many, however short ago the last seal was. Default 10,000. */
  readonly pageEvents?: number
}

export interface SealingStatus extends WitnessStatus {
  /** Since when this process tries in vain. */
  readonly failingSince: Date | undefined
}

export interface Sealing {
  status(): SealingStatus
  close(): Promise<void>
}

/** Name of the advisory lock of the process that seals. */
export const sealingLock = 'sealing'

/** How often the log is read, at most, in milliseconds. */
const mostPollMs = 5_000
/** After each page of an old log, other work of the process has its turn. */
const betweenPagesMs = 50
const backoff = { firstMs: 1_000, mostMs: 60_000 }

/** Seals the log, in one process at a time. Nothing waits for it. */
export function startSealing(options: SealingOptions): Sealing {
  const { configuration, egress, pool, logger, now, objects } = options
  const closing = new AbortController()
  const witnesses = configuration.witnesses.map((address) => new Witness(egress, address))
  const rounds = new WitnessRounds({
    witnesses,
    quorum: configuration.witnessQuorum ?? witnesses.length,
    objects,
    logger,
    now,
  })
  let failingSince: Date | undefined

  async function sealUntilStopped(signal: AbortSignal): Promise<void> {
    for (let attempt = 1; !signal.aborted; attempt += 1) {
      try {
        await sealContinuously(options, rounds, signal, () => {
          failingSince = undefined
          attempt = 0
        })
      } catch (error) {
        if (signal.aborted) break
        failingSince ??= now()
        logger.warn({ component: 'sealing', attempt, err: error }, 'sealing the log failed')
      }
      await rounds.settled()
      await pause(backoffMs(backoff, Math.max(attempt, 1)), signal)
    }
    await rounds.settled()
  }

  const running = runOnOneInstance({
    lock: sealingLock,
    pool,
    logger,
    standbyMs: mostPollMs,
    signal: closing.signal,
    work: sealUntilStopped,
    onStandby: () => undefined,
  })
  return {
    status: () => ({ failingSince, ...rounds.status() }),
    async close() {
      closing.abort()
      await running
    },
  }
}

async function sealContinuously(
  options: SealingOptions,
  rounds: WitnessRounds,
  signal: AbortSignal,
  onSuccess: () => void,
): Promise<void> {
  const { store, origin, configuration, pageEvents = 10_000 } = options
  const intervalMs = configuration.sealIntervalSeconds * 1_000
  const pollMs = Math.min(intervalMs, mostPollMs)
  // A start has other work first.
  await pause(pollMs, signal)
  if (signal.aborted) return
  const writer = await LogWriter.open(options, newRecord(origin))
  let sealedAtMs = -Infinity
  // After a rotation of the key the log is opened anew.
  while (!signal.aborted && !(await writer.isReplaced())) {
    const isPageFull = await addNext(store, writer, pageEvents, signal)
    if (signal.aborted) return
    if (isPageFull || (writer.waiting > 0 && performance.now() - sealedAtMs >= intervalMs)) {
      await writer.seal()
      sealedAtMs = performance.now()
    }
    onSuccess()
    // The witnesses sign the newest seal. Those of the pages before it need no signature.
    if (!isPageFull) rounds.begin(writer, signal)
    await pause(isPageFull ? betweenPagesMs : pollMs, signal)
  }
}

/** Adds what the log has after the last added event, at most a page. True if there may be more. */
async function addNext(
  store: Pick<EventStore, 'readStoredLog'>,
  writer: LogWriter,
  pageEvents: number,
  signal: AbortSignal,
): Promise<boolean> {
  for await (const event of store.readStoredLog({ after: writer.position })) {
    if (signal.aborted) return false
    if (isSealedStream(event.stream)) writer.add(event)
    if (writer.waiting >= pageEvents) return true
  }
  return false
}
