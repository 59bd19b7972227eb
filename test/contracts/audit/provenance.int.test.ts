import { hash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checkProvenance } from '../../../contracts/audit/offline/check-provenance.ts'
import { provenanceOf } from '../../../contracts/audit/offline/provenance-document.ts'
import { openProvenance } from '../../../contracts/audit/provenance.ts'
import type { ProvenanceReply } from '../../../contracts/audit/provenance-record.ts'
import { signDocument } from '../../../contracts/audit/sign-document.ts'
import type { StreamRange } from '../../../engine/store/raw-calls.ts'
import { aiReviews, requiredConsentCode } from '../../../streams/ai-review/aggregate.ts'
import { consents } from '../../../streams/consent/aggregate.ts'
import { newKey } from '../../app/audit/planted-log.ts'
import { reviewFact } from '../../streams/ai-review-facts.ts'
import { consentFact, ids } from '../../streams/facts.ts'
import { attemptOf, completed, openProvenanceWorld, type ProvenanceWorld } from './provenance-world.ts'

let world: ProvenanceWorld
let reply: ProvenanceReply
let keys: Awaited<ReturnType<ProvenanceWorld['keys']>>
const early: unknown[] = []

beforeAll(async () => {
  world = await openProvenanceWorld()
  const refusal = () => world.provenance().catch((error: unknown) => error)
  early.push(await refusal())
  await world.append(aiReviews.of(world.orgId, ids.review), [completed])
  early.push(await refusal())
  await world.write(300)
  await world.sealAll()
  await world.write(1)
  reply = await world.provenance()
  keys = await world.keys()
})
afterAll(() => world.close())

const check = (answer: unknown) => checkProvenance(answer, keys)
const kinds = (answer: unknown) => new Set(check(answer).faults.map(({ kind }) => kind))
const copy = (): ProvenanceReply => JSON.parse(JSON.stringify(reply))
/** Signed anew, as the holder of the key could. */
const signed = async (changed: ProvenanceReply) => ({
  ...changed,
  jws: await signDocument(world.vault, 'provenance', changed.document),
})

test('a review that has not ended, or is not sealed, has no document', () => {
  expect(early).toEqual([
    expect.objectContaining({ code: 'review-not-ended' }),
    expect.objectContaining({ code: 'provenance-not-sealed', status: 503, headers: { 'retry-after': '7' } }),
  ])
})

test('the document states what the result stands on, and each fact names its event', () => {
  const { document } = reply
  const text_version = { id: ids.textVersion, locale: 'en-GB', text_sha256: hash('sha256', 'I agree.') }
  const decision = { id: ids.consent, decision: 'granted', text_version }
  expect(document).toMatchObject({
    version: 1,
    review: { id: ids.review },
    case: { id: ids.case },
    patient: { id: ids.patient },
    organisation: { id: world.orgId },
    assessment: { id: ids.assessment },
    consent_decisions: [decision],
    consent_checks: [
      { call: 'case', attempt_id: attemptOf('case'), decision },
      { call: 'process', attempt_id: attemptOf('process'), decision },
    ],
    images: [
      {
        id: ids.image,
        image_type: 'DERMOSCOPIC',
        capture_type: 'dermoscopic',
        received: { sha256: 'a'.repeat(64), bytes: 2048 },
        sent: [{ sha256: 'e'.repeat(64), bytes: 1024 }],
      },
      { id: ids.secondImage, capture_type: 'other', sent: [{ bytes: 1024 }] },
    ],
    provider: { name: 'inference-provider', version: '4.2' },
    calls: ['case', 'image', 'image', 'process', 'result'].map((call) => ({
      call,
      outcome: { status: 200, duration_ms: 40 },
    })),
    ends: [{ status: 'completed' }],
    result: { analysis_result: 'SUCCESSFUL_PROCESSING', response_sha256: 'f'.repeat(64) },
    human_review: { is_selected: true, opinions: [{ number: 1 }], decision: { opinion: 1 } },
  })
  const named = [...JSON.stringify(document).matchAll(/"event_id":"([^"]+)"/g)].map(([, id]) => id)
  expect(named.filter((id) => !reply.proofs.some(({ event_id }) => event_id === id))).toEqual([])
  expect(JSON.stringify(document)).not.toMatch(/canary/i)
  expect(JSON.stringify(reply.proofs.map(({ data }) => Buffer.from(data, 'base64').toString()))).not.toMatch(/canary/i)
})

test('it is checked without the platform, and nothing is found', () => {
  expect(check(JSON.parse(JSON.stringify(reply)))).toMatchObject({
    document: { review: { id: ids.review } },
    events: reply.proofs.length,
    log: { origin: 'log.example/test' },
    faults: [],
  })
  expect(requiredConsentCode).toBe('ai_analysis')
})

/** The places of all values of a document. */
function placesOf(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [path]
  return Object.entries(value).flatMap(([name, member]) => placesOf(member, [...path, name]))
}

function changed(document: ProvenanceReply['document'], path: readonly string[]) {
  const parent = path.slice(0, -1).reduce<object>((at, name) => Object(Reflect.get(at, name)), document)
  const [name = ''] = path.slice(-1)
  const value: unknown = Reflect.get(parent, name)
  Reflect.set(
    parent,
    name,
    typeof value === 'number' ? value + 1 : typeof value === 'boolean' ? !value : `${String(value)}x`,
  )
}

describe('a change is found and named', () => {
  test('of each fact, also if the holder of the key signs it', async () => {
    const places = placesOf(reply.document)
    expect(places.length).toBeGreaterThan(150)
    for (const path of places) {
      const one = copy()
      changed(one.document, path)
      expect(check(one).faults.map(({ kind }) => kind)).toEqual(['signature-of-another-document', 'changed-fact'])
      const { faults } = check(await signed(one))
      expect(faults).toHaveLength(1)
      expect(faults[0]).toMatchObject({
        kind: 'changed-fact',
        detail: expect.stringContaining(`/${path.join('/')} is `),
      })
    }
  })

  test('of each list that lacks a fact, or has one more', async () => {
    for (const name of ['consent_decisions', 'consent_checks', 'images', 'calls', 'ends'] as const) {
      const [less, more] = [copy(), copy()]
      less.document[name].pop()
      Object.assign(more.document, { [name]: [...more.document[name], {}] })
      for (const one of [less, more]) expect(kinds(await signed(one))).toEqual(new Set(['changed-fact']))
    }
  })

  test('of the data of each event', () => {
    for (const [at, { event_id, data }] of reply.proofs.entries()) {
      const one = copy()
      const bytes = Buffer.from(data, 'base64').toString()
      const [proof] = one.proofs.splice(at, 1)
      if (proof === undefined) throw new Error('no proof')
      one.proofs.push({ ...proof, data: Buffer.from(bytes.replace(/\}$/, ',"x":1}')).toString('base64') })
      expect(check(one).faults).toEqual([expect.objectContaining({ kind: 'changed-data', event_id })])
      one.proofs.splice(-1, 1, { ...proof, data: 'x' })
      expect(check(one).faults[0]).toMatchObject({ kind: 'changed-data', event_id })
    }
  })

  test('of each proof that is one of another event, or is none', () => {
    for (const [at, { event_id }] of reply.proofs.entries()) {
      const other = copy()
      const [mine, next] = [other.proofs[at], other.proofs[(at + 1) % reply.proofs.length]]
      if (mine === undefined || next === undefined) throw new Error('no proof')
      mine.proof = next.proof
      expect(check(other).faults.filter((fault) => fault.event_id === event_id)).toEqual(
        expect.arrayContaining([expect.objectContaining({ kind: 'another-event' })]),
      )
      mine.proof = 'c2sp.org/tlog-proof@v1'
      expect(check(other).faults[0]).toMatchObject({ kind: 'not-a-proof', event_id })
    }
  })

  test('of each event that is left out, or is there twice', () => {
    for (const one of reply.proofs) {
      const left = kinds({ ...reply, proofs: reply.proofs.filter((proof) => proof !== one) })
      expect([...left].filter((kind) => kind !== 'missing-event' && kind !== 'changed-fact')).toEqual([])
      expect(left.size).toBeGreaterThan(0)
      expect(kinds({ ...reply, proofs: [...reply.proofs, one] })).toEqual(new Set(['repeated-event']))
    }
  })

  test('of the keys', async () => {
    const of = (changes: object) =>
      new Set(checkProvenance(reply, { ...keys, ...changes }).faults.map(({ kind }) => kind))
    expect(of({ log: [newKey('log.example/test').key] })).toEqual(new Set(['unknown-key', 'missing-event']))
    expect(of({ witnesses: [newKey('w.example', 4).key] })).toEqual(new Set(['not-witnessed', 'missing-event']))
    expect(of({ documents: { keys: await world.vault.publicKeys('receipt') } })).toEqual(
      new Set(['unknown-document-key']),
    )
  })

  test.each([null, [], {}, { document: {} }, { document: {}, jws: '', proofs: [null] }])(
    'of everything: %j',
    (answer) => {
      expect(check(answer).faults.length).toBeGreaterThan(0)
    },
  )
})

test('a later decision of the patient does not change the document', async () => {
  await world.append(consents.of(world.orgId, ids.patient), [
    consentFact('ConsentRecorded', {
      organisationId: world.orgId,
      consentId: ids.claim,
      decision: 'withdrawn',
    }),
  ])
  await world.sealAll()
  expect((await world.provenance()).document).toEqual(reply.document)
})

test('a consent to a text with another hash is found, of a review that failed before its first call', async () => {
  const { orgId } = world
  // The event of this text has a wrong hash.
  const given = { organisationId: orgId, consentId: ids.newReview, textVersionId: ids.event }
  await world.append(consents.of(orgId, ids.patient), [consentFact('ConsentRecorded', given)])
  await world.append(aiReviews.of(orgId, ids.newReview), [
    reviewFact('AiReviewRequested', { orgId, aiReviewId: ids.newReview }),
    reviewFact('AiReviewFailed', { aiReviewId: ids.newReview, classification: 'consent_missing' }),
  ])
  await world.sealAll()
  const other = await world.provenance(ids.newReview)
  expect(other.document).toMatchObject({
    ends: [{ status: 'failed', error: 'consent_missing' }],
    provider: null,
    result: null,
    human_review: null,
    calls: [],
  })
  expect(kinds(other)).toEqual(new Set(['wrong-text-hash']))
})

test('has the decisions before the end of the review, also if the clock of the log stepped back behind them', async () => {
  const { store, vault, objects, orgId } = world
  async function* ahead(stream: string, range: StreamRange) {
    const aheadMs = stream.startsWith(consents.category) ? 3_600_000 : 0
    for await (const event of store.readUnsigned(stream, range))
      yield { ...event, created: new Date(event.created.getTime() + aheadMs) }
  }
  const stepped = {
    load: store.load.bind(store),
    isSigned: store.isSigned.bind(store),
    readStoredLog: store.readStoredLog.bind(store),
    readUnsigned: ahead,
  }
  const provenance = openProvenance({ store: stepped, vault, objects, configuration: { sealIntervalSeconds: 7 } })
  const { consent_decisions: found } = (await world.provenance(ids.newReview)).document
  expect(found.map(({ decision }) => decision)).toEqual(['granted', 'withdrawn', 'granted'])
  expect((await provenance.of(orgId, ids.newReview)).document.consent_decisions).toEqual(found)
})

test('after the erasure of the patient it is the same', async () => {
  await world.vault.destroySubject(world.orgId, ids.patient)
  world.store.forgetStates()
  const erased = await world.provenance()
  expect(erased.document).toEqual(reply.document)
  expect(check(erased).faults).toEqual([])
})

test('events of earlier versions have null where they lack a fact', () => {
  const missing = ['answered', 'consentDecisionId', 'sent']
  const events = reply.proofs.map(({ event_id: id, proof, data }) => {
    const entry = JSON.parse(Buffer.from(/^extra (.+)$/m.exec(proof)?.[1] ?? '', 'base64').toString())
    const stored = Object.entries(JSON.parse(Buffer.from(data, 'base64').toString()))
    return { ...entry, id, data: Object.fromEntries(stored.filter(([name]) => !missing.includes(name))) }
  })
  const document = provenanceOf(events)
  expect(document?.calls.map(({ outcome }) => [outcome?.type, outcome?.status])).toEqual(
    ['ProviderCaseCreated', 'ImageSent', 'ImageSent', 'ProcessingAccepted', 'Completed'].map((end) => [
      `AiReview${end}`,
      null,
    ]),
  )
  expect(document?.consent_checks.map(({ decision }) => decision)).toEqual([null, null])
  expect(document?.images[0]?.sent).toMatchObject([{ sha256: null, bytes: null }])
})
