import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { SeededRandom } from 'embedded-eventstore/seeded-random'
import { at, textAt } from '../../../app/demo/members.ts'
import type { ApiAnswer } from '../../support/raw-api.ts'
import { expecting } from '../../support/main-job.ts'
import { waitFor } from '../../support/platform.ts'
import type { OrganisationOfReads, Read } from './recorded-reads.ts'

const inFlight = 8
const noPurpose = 'none'
const purposes = [noPurpose, noPurpose, 'TREAT', 'HOPERAT', 'PATRQT', 'HRESCH']

/** A read that was sent. */
interface Sent {
  readonly organisation: OrganisationOfReads
  readonly read: Read
  readonly requestId: string
  readonly purpose: string | undefined
  readonly answer: ApiAnswer
}

interface RandomReads {
  readonly count: number
  readonly seed: number
}

/** Reads at random, several at a time. */
export async function readAtRandom(
  organisations: readonly OrganisationOfReads[],
  { count, seed }: RandomReads,
): Promise<readonly Sent[]> {
  const random = new SeededRandom(seed)
  const sent: Sent[] = []
  let left = count
  async function reader(): Promise<void> {
    while (left > 0) {
      left -= 1
      const organisation = random.pick(organisations)
      const read = random.pick(organisation.reads)
      const purpose = random.pick(purposes)
      sent.push(await send(organisation, read, purpose === noPurpose ? undefined : purpose))
    }
  }
  await Promise.all(Array.from({ length: inFlight }, reader))
  return sent
}

/** Each read once. */
export async function readAll(organisation: OrganisationOfReads): Promise<readonly Sent[]> {
  const sent: Sent[] = []
  for (const read of organisation.reads) sent.push(await send(organisation, read, undefined))
  return sent
}

async function send(organisation: OrganisationOfReads, read: Read, purpose: string | undefined): Promise<Sent> {
  const requestId = randomUUID()
  const headers = {
    'x-request-id': requestId,
    ...(purpose === undefined ? {} : { 'x-purpose-of-use': purpose }),
    ...(read.by === 'actor' ? { 'x-actor-context': organisation.actor } : {}),
    ...read.headers,
  }
  const { method = 'GET', body } = read
  const request = { method, headers, ...(body === undefined ? {} : { body }) }
  const answer = await organisation.clients[read.by].call(read.path, request)
  return { organisation, read, requestId, purpose, answer }
}

/** The records of an organisation's clients, by their request ids. */
export async function recordsOf({ auditor, clientIds }: OrganisationOfReads): Promise<ReadonlyMap<string, unknown>> {
  const records = new Map<string, unknown>()
  for (const clientId of clientIds) {
    for (let cursor = ''; ;) {
      const query = new URLSearchParams({ client_id: clientId, limit: '200', ...(cursor === '' ? {} : { cursor }) })
      const { body } = await expecting(200, auditor.call(`/v1/audit/access-log?${query.toString()}`))
      for (const record of Object(at(body, 'data')) as readonly unknown[])
        records.set(textAt(record, 'request_id'), record)
      const next = at(body, 'next_cursor')
      if (typeof next !== 'string') break
      cursor = next
    }
  }
  return records
}

/** Expects that the log has each answer that left and showed something, as it was, and no other. */
export async function expectLogged(
  sent: readonly Sent[],
  organisations: readonly OrganisationOfReads[],
): Promise<void> {
  for (const organisation of organisations) {
    const own = sent.filter((each) => each.organisation === organisation)
    const isExpected = ({ read, answer }: Sent) => read.shows !== undefined && answer.status === read.status
    const expected = own.filter(isExpected)
    const records = await waitFor('the log', async () => {
      const found = await recordsOf(organisation)
      return expected.every(({ requestId }) => found.has(requestId)) ? found : undefined
    })
    for (const each of expected) expect(records.get(each.requestId)).toMatchObject(recordOf(each))
    // The record comes before the answer, which may fail.
    const isFailed = ({ answer }: Sent) => answer.status >= 500
    const mayBe = new Set(own.filter((each) => isExpected(each) || isFailed(each)).map(({ requestId }) => requestId))
    const ofRun = new Set(sent.map(({ requestId }) => requestId))
    expect([...records.keys()].filter((id) => ofRun.has(id) && !mayBe.has(id))).toEqual([])
  }
}

function recordOf({ organisation, read, purpose, requestId }: Sent) {
  return {
    org_id: organisation.orgId,
    user_id: read.by === 'actor' ? organisation.clinician : null,
    patient_ids: read.shows?.patients.toSorted(),
    subject_user_id: read.shows?.user ?? null,
    categories: read.shows?.categories,
    operation: read.operation,
    purpose: purpose ?? null,
    request_id: requestId,
    source_address: '127.0.0.1',
    count: 1,
  }
}
