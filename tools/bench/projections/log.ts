import { v7 } from 'uuid'
import { consents } from '../../../streams/consent/aggregate.ts'
import { categoryOf } from '../../../engine/store/catalogue.ts'
import type { EventStore } from '../../../engine/store/event-store.ts'
import type { DomainEvent, Fold } from '../../../engine/store/events.ts'
import { type StreamRevision, startOfLog, type Position } from '../../../platform/kit/positions.ts'
import {
  assessmentAppends,
  assessmentsPerPatient,
  consentEvent,
  eventsPerAssessment,
  eventsPerPatient,
  patientAppends,
  type JobAppend,
} from './main-job.ts'
import { tenantOfFact, type TenantId } from '../../../platform/kit/tenants.ts'

/** The content of a log, counted when it was written. */
export interface Written {
  readonly events: number
  /** Number of events of each type. */
  readonly byType: ReadonlyMap<string, number>
  readonly assessmentIds: readonly string[]
}

export interface LogOptions {
  readonly organisationId?: TenantId
  /** Smallest number of events. Only complete jobs are written. */
  readonly events: number
}

const jobsAtATime = 256
/** Each decision first reads its patient's key from the vault. */
const decidersAtATime = 16
const decisionsPerAppend = 100
const eventsPerJob = eventsPerPatient + assessmentsPerPatient * eventsPerAssessment

/** Writes the main job repeatedly, for many patients at a time, so that their events are interleaved. */
export async function writeMainJobs(
  store: EventStore,
  { organisationId = tenantOfFact(v7()), events }: LogOptions,
): Promise<Written> {
  const assessmentIds: string[] = []
  const written = await write(
    store,
    organisationId,
    Math.ceil(events / eventsPerJob),
    jobsAtATime,
    async (writer, number) => {
      const patientId = v7()
      const at = Date.UTC(2026, 0, 1) + number * 60_000
      for (const append of patientAppends(organisationId, patientId, at)) await writer.append(append)
      for (let assessment = 0; assessment < assessmentsPerPatient; assessment += 1) {
        const assessmentId = v7()
        for (const append of assessmentAppends(organisationId, patientId, at, assessmentId)) await writer.append(append)
        assessmentIds.push(assessmentId)
      }
    },
  )
  return { ...written, assessmentIds }
}

/** Writes decisions of patients. Each becomes one row of the consent records. */
export async function writeDecisions(
  store: EventStore,
  { organisationId = tenantOfFact(v7()), events }: LogOptions,
): Promise<Written> {
  const written = await write(
    store,
    organisationId,
    Math.ceil(events / decisionsPerAppend),
    decidersAtATime,
    async (writer) => {
      const patientId = v7()
      const decisions = Array.from({ length: decisionsPerAppend }, (_, index) =>
        consentEvent(organisationId, patientId, Date.now(), index + 1),
      )
      await writer.append({ stream: consents.of(organisationId, patientId).stream, events: decisions })
    },
  )
  return { ...written, assessmentIds: [] }
}

/** Position of the newest event. A reading of everything ends there. */
export async function endOf(store: EventStore): Promise<Position> {
  const end = await store.head({ streamPrefixes: [] })
  if (end === startOfLog) throw new Error('the log has no events')
  return end
}

async function write(
  store: EventStore,
  organisationId: TenantId,
  jobs: number,
  atATime: number,
  job: (writer: StreamWriter, number: number) => Promise<void>,
): Promise<Omit<Written, 'assessmentIds'>> {
  const byType = new Map<string, number>()
  let begun = 0
  const work = async (): Promise<void> => {
    while (begun < jobs) {
      begun += 1
      await job(new StreamWriter(store, organisationId, byType), begun)
    }
  }
  await Promise.all(Array.from({ length: atATime }, work))
  return { events: [...byType.values()].reduce((sum, count) => sum + count, 0), byType }
}

/** Appends of one job to the streams that it creates. */
class StreamWriter {
  readonly #store: EventStore
  readonly #orgId: TenantId
  readonly #counts: Map<string, number>
  readonly #revisions = new Map<string, StreamRevision>()

  constructor(store: EventStore, orgId: TenantId, counts: Map<string, number>) {
    this.#store = store
    this.#orgId = orgId
    this.#counts = counts
  }

  async append({ stream, events }: JobAppend): Promise<void> {
    const context = { commandId: v7(), correlationId: v7(), orgId: this.#orgId, clientId: 'bench' }
    const { revision } = await this.#store.append(
      { fold: unfolded(stream), stream },
      this.#revisions.get(stream) ?? 'no_stream',
      events,
      context,
    )
    this.#revisions.set(stream, revision)
    for (const { type } of events) this.#counts.set(type, (this.#counts.get(type) ?? 0) + 1)
  }
}

function unfolded(stream: string): Fold<null, DomainEvent> {
  return { category: categoryOf(stream), initialState: null, evolve: () => null }
}
