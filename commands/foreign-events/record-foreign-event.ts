import { isUtf8 } from 'node:buffer'
import { isUuid } from '../../platform/http/formats.ts'
import { jsonOf } from '../../platform/kit/json-reading.ts'
import { noOrganisation, tenantOfFact, type TenantId } from '../../platform/kit/tenants.ts'
import { channelStreams } from '../../streams/channels/channel-streams.ts'
import { foreignEventId, type ForeignEventState } from '../../streams/foreign-event/aggregate.ts'
import type { ForeignEvent, RejectionReason } from '../../streams/foreign-event/events.ts'
import { isJsonObject, type JsonObject } from '../../engine/store/events.ts'
import { readForeignRequest } from '../ai-review/foreign-request.ts'
import type { Decision } from '../../engine/commands/decision.ts'

/** A foreign stream, and the organisations about which its events are believed. Null: every organisation. */
export interface ForeignChannel {
  readonly name: string
  readonly organisations: readonly string[] | null
}

/** An event as another writer stored it. Nothing in it is checked. */
export interface ForeignMessage {
  readonly id: string
  readonly type: string
  readonly revision: bigint
  readonly created: Date
  readonly isJson: boolean
  readonly dataBytes: Uint8Array
}

const reviewRequest = 'ai_review.requested'
const mostBytes = 256 * 1024
const mostLevels = 32
const mostOrganisations = 100

/** Records an event of a foreign channel once. */
export function recordForeignEvent(
  { event }: { readonly event: ForeignEvent },
  state: ForeignEventState,
): Decision<ForeignEvent> {
  return state.status === 'absent' ? [event] : []
}

/** Records that an event cannot be acted on any more: its data was erased. */
export function rejectErased({ now }: { readonly now: Date }, state: ForeignEventState): Decision<ForeignEvent> {
  if (state.status !== 'received' || state.data !== null) return []
  const { status: _, orgId: __, organisationIds: ___, phiSubject: ____, data: _____, ...place } = state
  const rejected = { reason: 'erased' as const, pointer: null, receivedAt: now.toISOString() }
  return [{ type: 'ForeignEventRejected', data: { ...place, ...rejected } }]
}

/** The record of a foreign event: received, or rejected with the reason. */
export function foreignEventOf(channel: ForeignChannel, message: ForeignMessage, now: Date): ForeignEvent {
  const recordId = foreignEventId(channel.name, message.id)
  const isTypeReadable = /^[\x20-\x7e]{1,200}$/.test(message.type)
  const place = {
    foreignEventId: recordId,
    channel: channel.name,
    channelRevision: message.revision.toString(),
    eventId: message.id,
    eventType: isTypeReadable ? message.type : '',
    publishedAt: message.created.toISOString(),
    receivedAt: now.toISOString(),
  }
  const rejected = (reason: RejectionReason, pointer: string | null = null): ForeignEvent => ({
    type: 'ForeignEventRejected',
    data: { ...place, reason, pointer },
  })
  if (!isTypeReadable) return rejected('type')
  if (isOwn(message.type)) return rejected('own-domain')
  if (message.dataBytes.length > mostBytes) return rejected('too-large')
  // Each byte that is no UTF-8 would become three: the record could be too large for the event store.
  const text = message.isJson && isUtf8(message.dataBytes) ? Buffer.from(message.dataBytes).toString('utf8') : ''
  const data = jsonOf(text)
  if (!isJsonObject(data)) return rejected('not-json')
  if (isDeeperThan(mostLevels, data)) return rejected('too-deep')
  const named = organisationsOf(data)
  if (named === undefined) return rejected('organisation')
  const organisationIds = trusted(named, channel)
  if (organisationIds === undefined) return rejected('organisation-not-trusted')
  if (message.type === reviewRequest) {
    const read = readForeignRequest(data)
    if ('fault' in read) return rejected('malformed', read.fault.slice(0, 200))
    if (organisationIds.length !== 1) return rejected('malformed', '/orgId')
  }
  const orgId = organisationIds.length === 1 ? (organisationIds[0] ?? null) : null
  const patientId = orgId === null ? undefined : patientOf(data)
  return {
    type: 'ForeignEventReceived',
    data: { ...place, orgId, organisationIds: [...organisationIds], phiSubject: patientId ?? recordId, data: text },
  }
}

const ownDomains: readonly string[] = channelStreams.map(({ name }) => name.slice(0, -'.events'.length))

/**
 * Only the platform publishes events of its domains, and rules fire on them. Letter case makes no difference. The
 * specification takes requests for reviews from others.
 */
function isOwn(type: string): boolean {
  const [domain = ''] = type.toLowerCase().split('.', 1)
  return ownDomains.includes(domain.trim()) && type !== reviewRequest
}

/** Without recursion: the text may nest as deeply as it is long. */
function isDeeperThan(levels: number, data: object): boolean {
  let level: unknown[] = [data]
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > levels) return true
    level = level.flatMap((value) => (typeof value === 'object' && value !== null ? Object.values(value) : []))
  }
  return false
}

/** The organisations that the event names, in lower case. Undefined if one is no UUID. The nil UUID names none. */
function organisationsOf(data: JsonObject): readonly TenantId[] | undefined {
  const { organisationIds = [] } = data
  if (!Array.isArray(organisationIds) || organisationIds.length > mostOrganisations) return undefined
  const single = [data['org_id'], data['orgId'], data['organisationId']].filter((id) => id !== undefined && id !== null)
  const ids = new Set<TenantId>()
  for (const id of [...single, ...(organisationIds as unknown[])]) {
    if (typeof id !== 'string' || !isUuid(id)) return undefined
    ids.add(tenantOfFact(id.toLowerCase()))
  }
  ids.delete(noOrganisation)
  return [...ids]
}

/** A channel that is trusted for one organisation only: an event without an organisation belongs to that one. */
function trusted(named: readonly TenantId[], { organisations }: ForeignChannel): readonly TenantId[] | undefined {
  if (organisations === null) return named
  if (named.length === 0) return organisations.length === 1 ? organisations.map(tenantOfFact) : undefined
  return named.every((id) => organisations.includes(id)) ? named : undefined
}

/** The patient whom an event concerns, in lower case: the key of the patient has this name. */
export function patientOf({ patientId, patient_id }: Readonly<Record<string, unknown>>): string | undefined {
  return [patientId, patient_id].find((id): id is string => typeof id === 'string' && isUuid(id))?.toLowerCase()
}
