import { describe, expect, it } from 'vitest'
import {
  foreignEventOf,
  recordForeignEvent,
  rejectErased,
  type ForeignChannel,
  type ForeignMessage,
} from '../../../commands/foreign-events/record-foreign-event.ts'
import { noOrganisation } from '../../../platform/kit/tenants.ts'
import { foreignEvents } from '../../../streams/foreign-event/aggregate.ts'
import { channelStreams } from '../../../streams/channels/channel-streams.ts'
import { at, ids } from '../../streams/facts.ts'
import { foreignChannel, foreignFact, foreignRequest } from '../../streams/foreign-facts.ts'
import { given } from '../../support/given-decider.ts'

const now = new Date(at(2))
const everyone: ForeignChannel = { name: foreignChannel, organisations: null }
const onlyOrg: ForeignChannel = { name: foreignChannel, organisations: [ids.org] }

function message(data: unknown, changes: Partial<ForeignMessage> = {}): ForeignMessage {
  const text = typeof data === 'string' ? data : JSON.stringify(data)
  const usual = { id: ids.event, type: 'ai_review.requested', revision: 7n, created: new Date(at(1)), isJson: true }
  return { ...usual, dataBytes: Buffer.from(text), ...changes }
}

const arrived = (data: unknown) => message(data, { type: 'visit.booked' })
const outcomeOf = (channel: ForeignChannel, given: ForeignMessage) => {
  const event = foreignEventOf(channel, given, now)
  return event.type === 'ForeignEventRejected' ? event.data.reason : event.data
}

describe('an event of a foreign channel', () => {
  it('is recorded once, with its data as text', () => {
    const event = foreignEventOf(everyone, message(foreignRequest), now)
    expect(event).toEqual(foreignFact('ForeignEventReceived'))
    given(foreignEvents).when(recordForeignEvent, { event }).thenEvents([event])
  })

  it('with a fault is recorded once, without its data', () => {
    const [image] = foreignRequest.images
    const event = foreignEventOf(
      everyone,
      message({ ...foreignRequest, images: [{ ...image, imageType: 'X-RAY' }] }),
      now,
    )
    expect(event).toEqual(foreignFact('ForeignEventRejected'))
    given(foreignEvents).when(recordForeignEvent, { event }).thenEvents([event])
  })

  it('that was erased before the platform acted on it is rejected once', () => {
    const erased = foreignFact('ForeignEventReceived', { data: null })
    const rejected = foreignFact('ForeignEventRejected', { reason: 'erased', pointer: null, receivedAt: at(9) })
    given(foreignEvents, erased)
      .when(rejectErased, { now: new Date(at(9)) })
      .thenEvents([rejected])
    given(foreignEvents, foreignFact('ForeignEventReceived')).when(rejectErased, { now }).thenNothing()
  })

  it.each([
    ['text that is not JSON', arrived('{"a":')],
    ['a list', arrived('[]')],
    ['bytes that are not UTF-8', message({}, { dataBytes: Buffer.from('{"a":"\xff"}', 'latin1') })],
    ['data that is not declared as JSON', { ...arrived({}), isJson: false }],
  ])('of %s is rejected', (_, given) => {
    expect(outcomeOf(everyone, given)).toBe('not-json')
  })

  it('is rejected above 256 KiB, above 32 levels, and with an unreadable type', () => {
    const nested = (levels: number) => `{"a":`.repeat(levels) + '1' + '}'.repeat(levels)
    expect(outcomeOf(everyone, arrived(nested(32)))).toMatchObject({ data: nested(32) })
    expect(outcomeOf(everyone, arrived(nested(33)))).toBe('too-deep')
    expect(outcomeOf(everyone, arrived(nested(50_000)))).toBe('too-large')
    expect(outcomeOf(everyone, arrived({ a: 'x'.repeat(256 * 1024) }))).toBe('too-large')
    expect(foreignEventOf(everyone, message({}, { type: 'x'.repeat(201) }), now).data).toMatchObject({
      reason: 'type',
      eventType: '',
    })
  })

  it.each([
    ...channelStreams.flatMap(({ events }) => Object.values(events).map(({ type }) => type)),
    'consent.granted.again',
    'Consent.Granted',
    'clinical',
    'AI_REVIEW.requested',
    'ai_review.requested.v2',
  ])('of the type %s is rejected, unless the specification takes it from others', (type) => {
    const reason = outcomeOf(everyone, message(foreignRequest, { type }))
    if (type === 'ai_review.requested') expect(reason).toMatchObject({ eventType: type })
    else expect(reason).toBe('own-domain')
  })

  it.each(['consents.granted', 'clinic.patient.registered', 'user.created', 'visit.consent.granted'])(
    "of the type %s is another service's own",
    (eventType) => expect(outcomeOf(everyone, message({}, { type: eventType }))).toMatchObject({ eventType }),
  )

  it.each(['org_id', 'orgId', 'organisationId'])('belongs to the organisation in %s', (member) => {
    expect(outcomeOf(everyone, arrived({ [member]: ids.org.toUpperCase() }))).toMatchObject({ orgId: ids.org })
    expect(outcomeOf(everyone, arrived({ [member]: 'org 1' }))).toBe('organisation')
  })

  it('may belong to several organisations, or to none', () => {
    const [both, none] = [{ organisationIds: [ids.org, ids.otherOrg, ids.org] }, { org_id: null }]
    expect(outcomeOf(everyone, arrived(both))).toMatchObject({ orgId: null, organisationIds: [ids.org, ids.otherOrg] })
    expect(outcomeOf(everyone, arrived(none))).toMatchObject({ orgId: null, organisationIds: [] })
  })

  it('belongs to none if it names the nil UUID', () => {
    const nil = { orgId: noOrganisation, organisationIds: [noOrganisation] }
    expect(outcomeOf(everyone, arrived(nil))).toMatchObject({ orgId: null, organisationIds: [] })
    expect(outcomeOf(onlyOrg, arrived(nil))).toMatchObject({ orgId: ids.org })
    expect(outcomeOf(everyone, message({ ...foreignRequest, orgId: noOrganisation }))).toBe('malformed')
  })

  it('of a channel that is trusted for one organisation must not name another one', () => {
    expect(outcomeOf(onlyOrg, arrived({ orgId: ids.org }))).toMatchObject({ orgId: ids.org })
    expect(outcomeOf(onlyOrg, arrived({}))).toMatchObject({ orgId: ids.org })
    expect(outcomeOf(onlyOrg, arrived({ orgId: ids.otherOrg }))).toBe('organisation-not-trusted')
    expect(outcomeOf(onlyOrg, arrived({ organisationIds: [ids.org, ids.otherOrg] }))).toBe('organisation-not-trusted')
  })

  it('is encrypted for its patient, if it names one organisation and one patient', () => {
    const data = { orgId: ids.org, patient_id: ids.patient }
    expect(outcomeOf(everyone, arrived(data))).toMatchObject({ phiSubject: ids.patient })
    expect(outcomeOf(everyone, arrived({ patient_id: ids.patient }))).not.toMatchObject({ phiSubject: ids.patient })
  })
})

describe('a foreign request for a review', () => {
  const [image] = foreignRequest.images
  it.each<readonly [string, object]>([
    ['/caseId', { caseId: 'case 1' }],
    ['/requestedAt', { requestedAt: '2026-03-01' }],
    ['/images', { images: [] }],
    ['/images/0/presignedUrlExpiresAt', { images: [{ ...image, presignedUrlExpiresAt: 'tomorrow' }] }],
    ['/images/1/imageId', { images: [image, image] }],
    ['/correlationId', { correlationId: 17 }],
    ['/orgId', { organisationId: ids.otherOrg }],
  ])('is rejected for a fault at %s', (pointer, changes) => {
    const { data } = foreignEventOf(everyone, message({ ...foreignRequest, ...changes }), now)
    expect(data).toMatchObject({ reason: 'malformed', pointer })
  })

  it.each(['caseId', 'productId', 'orgId', 'requestedAt', 'images'])(
    'is rejected without %s, at that member',
    (member) => {
      const data = Object.fromEntries(Object.entries(foreignRequest).filter(([name]) => name !== member))
      const of = member === 'orgId' ? onlyOrg : everyone
      expect(foreignEventOf(of, message(data), now).data).toMatchObject({ reason: 'malformed', pointer: `/${member}` })
    },
  )

  it('is rejected without the address of an image, at that member', () => {
    const { presignedUrl: _, ...unaddressed } = image ?? {}
    const { data } = foreignEventOf(everyone, message({ ...foreignRequest, images: [image, unaddressed] }), now)
    expect(data).toMatchObject({ reason: 'malformed', pointer: '/images/1/presignedUrl' })
  })

  it('may have members that the specification does not name, and no correlation id', () => {
    const { correlationId: _, ...rest } = foreignRequest
    const data = { ...rest, urgency: 'high', images: [{ ...image, zoom: 2 }] }
    expect(foreignEventOf(everyone, message(data), now).type).toBe('ForeignEventReceived')
  })
})
