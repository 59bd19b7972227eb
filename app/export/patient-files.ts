import type { AsOf, Moment } from '../../contracts/audit/as-of.ts'
import { toAccessRecord } from '../../contracts/audit/access-record.ts'
import type { ExportFile, ExportOrder, LeftOut } from '../../contracts/audit/export.ts'
import type { Provenance } from '../../contracts/audit/provenance.ts'
import type { AuditRecords, StreamPart } from '../../contracts/audit/records-in-order.ts'
import { timelineItemOf } from '../../contracts/audit/timeline.ts'
import { signReceipt } from '../../contracts/consent/receipt.ts'
import { parseOwnedStream } from '../../engine/aggregates/aggregate.ts'
import { categoryOf } from '../../engine/store/catalogue.ts'
import type { EventStore } from '../../engine/store/event-store.ts'
import type { PageRows } from '../../platform/http/cursors.ts'
import type { Configuration } from '../../platform/configuration/configuration.ts'
import type { Pool } from '../../platform/database/database.ts'
import type { CursorPlace, PageRequest } from '../../platform/http/cursors.ts'
import { Problem, problem } from '../../platform/http/problems.ts'
import { comparePositions } from '../../platform/kit/positions.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import type { ObjectStore } from '../../platform/storage/object-store.ts'
import type { Vault } from '../../platform/vault/vault.ts'
import { listAccesses, placeOfAccess } from '../../read-api/audit/access-queries.ts'
import { shownSince } from '../../read-api/audit/access-routes.ts'
import { partsOf } from '../../read-api/audit/subject-queries.ts'
import { toDecisionRecord } from '../../read-api/consent/decision-routes.ts'
import { getDecisionWithLocale, listDecisions, placeOfDecision } from '../../read-api/consent/queries.ts'
import { aiReviews } from '../../streams/ai-review/aggregate.ts'
import { assessments } from '../../streams/assessment/aggregate.ts'
import { images } from '../../streams/image/aggregate.ts'

export interface ExportSources {
  readonly pool: Pool
  readonly store: Pick<EventStore, 'load'>
  readonly vault: Pick<Vault, 'signingKey' | 'subjectKeyForReading' | 'cachedSubjectKey'>
  readonly objects: Pick<ObjectStore, 'read'>
  readonly records: AuditRecords
  readonly asOf: Pick<AsOf, 'answer' | 'momentOf'>
  readonly provenance: Provenance
  readonly configuration: Pick<Configuration, 'baseUrl' | 'accessLogRetentionDays'>
  readonly now: () => Date
}

const pageRows = 200

/**
 * Everything about a patient at a moment: each file in turn, and nothing of it as a whole in memory.
 * @param leaveOut receives what the files lack. A repeat would lack it too
 */
export async function* patientFiles(
  sources: ExportSources,
  { tenant, patientId }: ExportOrder,
  moment: Moment,
  leaveOut: (one: LeftOut) => void,
): AsyncGenerator<ExportFile, void, undefined> {
  // Before all others: what is not sealed yet ends the writing, and it is tried again soon.
  yield* provenanceOf(sources, tenant, patientId, leaveOut)
  yield { path: 'timeline.jsonl', chunks: lines(timelineOf(sources, tenant, patientId, moment)) }
  yield { path: 'access-log.jsonl', chunks: lines(accessesOf(sources, tenant, patientId)) }
  for await (const part of streamsOf(sources, tenant, patientId, Object.keys(records))) {
    const { id } = parseOwnedStream(part.stream)
    const category = categoryOf(part.stream)
    for (const { file, url } of recordsOf(category, id)) {
      const path = `records/${file}.json`
      const pages = await unlessLeftOut(recordPages(sources, tenant, moment, url), path, leaveOut)
      if (pages !== undefined) yield { path, chunks: text(pages) }
    }
    yield* imagesOf(sources, tenant, { category, id }, leaveOut)
  }
  for await (const { consentId } of pagesOf(
    (page) => listDecisions(sources, tenant, patientId, { type: undefined, page }),
    placeOfDecision,
  ))
    yield {
      path: `receipts/${consentId}.json`,
      chunks: text(await receiptOf(sources, tenant, patientId, consentId)),
    }
}

async function* timelineOf(
  { pool, records }: ExportSources,
  tenant: TenantId,
  patientId: string,
  { position }: Moment,
): AsyncGenerator<unknown, void, undefined> {
  const question = { order: 'asc', after: undefined, from: undefined, to: undefined, categories: undefined } as const
  const parts = partsOf(pool, { kind: 'patient', id: patientId, tenant }, question)
  for await (const record of records.inOrder(parts, { order: 'asc', after: undefined, isOpened: true })) {
    if (comparePositions(record.position, position) > 0) return
    yield timelineItemOf(record, tenant)
  }
}

async function* accessesOf(
  sources: ExportSources,
  tenant: TenantId,
  patientId: string,
): AsyncGenerator<unknown, void, undefined> {
  const filters = { patientId, since: shownSince(sources) }
  const rows = pagesOf((page) => listAccesses(sources, tenant, filters, page), placeOfAccess)
  // A list that was shown names other patients too. The export is for this one.
  for await (const row of rows) yield toAccessRecord({ ...row, patientIds: [patientId] })
}

/** The streams about the patient that belong to the organisation alone. */
async function* streamsOf(
  { pool }: ExportSources,
  tenant: TenantId,
  patientId: string,
  categories: readonly string[],
): AsyncGenerator<StreamPart, void, undefined> {
  const question = { order: 'asc', after: undefined, from: undefined, to: undefined } as const
  yield* partsOf(pool, { kind: 'patient', id: patientId, tenant }, { ...question, categories })
}

/** What the results of the ended reviews stand on. A document that is too large for a proof is left out. */
async function* provenanceOf(
  sources: ExportSources,
  tenant: TenantId,
  patientId: string,
  leaveOut: (one: LeftOut) => void,
): AsyncGenerator<ExportFile, void, undefined> {
  for await (const { stream } of streamsOf(sources, tenant, patientId, [aiReviews.category])) {
    const { id } = parseOwnedStream(stream)
    const path = `provenance/${id}.json`
    const reply = await unlessLeftOut(sources.provenance.of(tenant, id), path, leaveOut)
    if (reply !== undefined) yield { path, chunks: text(reply) }
  }
}

const leftOut: readonly string[] = ['review-not-ended', 'provenance-too-large', 'history-too-large', 'not-found']

/** Undefined for what has no file. Any other failure ends the writing. */
async function unlessLeftOut<Content>(
  made: Promise<Content>,
  path: string,
  leaveOut: (one: LeftOut) => void,
): Promise<Content | undefined> {
  try {
    return await made
  } catch (error) {
    if (!(error instanceof Problem && leftOut.includes(error.code))) throw error
    leaveOut({ path, reason: error.code })
    return undefined
  }
}

interface RecordFile {
  readonly file: string
  /** Of the GET route that answers the record. */
  readonly url: string
}

/** The files of a stream's record, by the category of the stream. */
const records: Readonly<Record<string, (id: string) => readonly RecordFile[]>> = {
  patient: (id) => [{ file: 'patient', url: `/v1/clinical-api/patients/${id}` }],
  consent: (id) => [{ file: 'consents', url: `/v1/patients/${id}/consents/history?limit=${pageRows}` }],
  case: (id) => [
    { file: `cases/${id}`, url: `/v1/clinical-api/cases/${id}` },
    { file: `findings/${id}`, url: `/v1/clinical-api/cases/${id}/findings?limit=${pageRows}` },
    { file: `diagnoses/${id}`, url: `/v1/clinical-api/cases/${id}/diagnoses?limit=${pageRows}` },
  ],
  image: (id) => [{ file: `images/${id}`, url: `/v1/clinical-api/images/${id}` }],
  assessment: (id) => [{ file: `assessments/${id}`, url: `/v1/clinical-api/assessments/${id}` }],
  ai_review: (id) => [{ file: `ai-reviews/${id}`, url: `/v1/ai-reviews/${id}` }],
  humanreviewtask: (id) => [{ file: `tasks/${id}`, url: `/v1/human-review/tasks/${id}` }],
  workflow_instance: (id) => [{ file: `workflow-instances/${id}`, url: `/v1/orchestrator/workflow-instances/${id}` }],
  notification: (id) => [{ file: `notifications/${id}`, url: `/v1/notifications/${id}` }],
}

function recordsOf(category: string, id: string): readonly RecordFile[] {
  return records[category]?.(id) ?? []
}

/** The answer of a route, or the items of all pages of a list. Undefined for a record that had not begun. */
async function recordPages({ asOf }: ExportSources, tenant: TenantId, moment: Moment, url: string): Promise<unknown> {
  const items: unknown[] = []
  for (let next = ''; ;) {
    const { status, body } = await asOf.answer(tenant, moment, `${url}${next}`)
    if (status === 404) return undefined
    if (status !== 200) throw problem('internal-error')
    const { data, next_cursor: cursor } = Object(body) as { readonly data?: unknown; readonly next_cursor?: unknown }
    if (!Array.isArray(data)) return body
    items.push(...data)
    if (typeof cursor !== 'string') return items
    next = `&cursor=${encodeURIComponent(cursor)}`
  }
}

/** The bytes of the images of a stream. */
async function* imagesOf(
  { store, objects }: ExportSources,
  tenant: TenantId,
  { category, id }: { readonly category: string; readonly id: string },
  leaveOut: (one: LeftOut) => void,
): AsyncGenerator<ExportFile, void, undefined> {
  for (const { imageId, mimeType, object } of await storedImages(store, tenant, category, id)) {
    const path = `images/${imageId}.${mimeType === 'image/png' ? 'png' : 'jpg'}`
    const found = await objects.read(object.key)
    if (found === undefined) leaveOut({ path, reason: 'object-missing' })
    else yield { path, chunks: found.chunks, receivedSha256: object.sha256 }
  }
}

interface StoredImage {
  readonly imageId: string
  readonly mimeType: string
  readonly object: { readonly key: string; readonly sha256: string }
}

async function storedImages(
  store: ExportSources['store'],
  tenant: TenantId,
  category: string,
  id: string,
): Promise<readonly StoredImage[]> {
  if (category === 'assessment') {
    const { state } = await store.load(assessments.of(tenant, id))
    // Images that a workflow collected have streams of their own.
    if (state.status === 'absent' || state.mode === 'collected') return []
    return state.images.flatMap((image) => ('object' in image ? [image] : []))
  }
  if (category !== 'image') return []
  const { state } = await store.load(images.of(tenant, id))
  return state.status === 'received' ? [state] : []
}

async function receiptOf(
  { configuration, now, ...sources }: ExportSources,
  tenant: TenantId,
  patientId: string,
  consentId: string,
): Promise<unknown> {
  const decision = await getDecisionWithLocale(sources, tenant, patientId, consentId)
  const record = toDecisionRecord(decision)
  const facts = { issuer: `${configuration.baseUrl}/v1/consent`, record, locale: decision.locale, now: now() }
  return { receipt: await signReceipt(sources.vault, facts) }
}

/** All rows of a list, page by page. */
async function* pagesOf<Row>(
  read: (page: PageRequest) => Promise<PageRows<Row>>,
  placeOf: (row: Row) => CursorPlace,
): AsyncGenerator<Row, void, undefined> {
  let after: CursorPlace | null = null
  for (;;) {
    const { rows, hasMore }: PageRows<Row> = await read({ after, limit: pageRows })
    yield* rows
    const last = rows.at(-1)
    if (!hasMore || last === undefined) return
    after = placeOf(last)
  }
}

async function* text(value: unknown): AsyncGenerator<Uint8Array, void, undefined> {
  yield Buffer.from(`${JSON.stringify(value, null, 2)}\n`)
}

async function* lines(values: AsyncIterable<unknown>): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const value of values) yield Buffer.from(`${JSON.stringify(value)}\n`)
}
