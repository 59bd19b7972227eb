import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isSuppressed } from '../../../commands/notifications/suppressions.ts'
import type { TenantId } from '../../../platform/kit/tenants.ts'
import { refusalOf } from '../users/write-callers.ts'
import { idOf, idsIn, newAddress, openSettingsApi, type Headers, type SettingsApi } from './settings-api.ts'

let s: SettingsApi
beforeAll(async () => {
  s = await openSettingsApi()
})
afterAll(() => s.close())

const path = '/admin/suppressions'
const add = (more: object = {}, headers: Headers = s.clinicAdmin) =>
  s.call('POST', path, headers, { channel: 'email', address: newAddress(), reason: 'Asked by phone', ...more })
const remove = (id: string, headers: Headers = s.clinicAdmin) => s.call('DELETE', `${path}/${id}`, headers)
const get = (id: string, headers: Headers = s.clinicAdmin) => s.call('GET', `${path}/${id}`, headers)
const list = (query = '?limit=200', headers: Headers = s.clinicAdmin) => s.call('GET', `${path}${query}`, headers)

/** As the delivery asks before each message. */
const gate = (address: string, orgId: TenantId = s.clinic.orgId, channel: 'email' | 'slack' = 'email') =>
  isSuppressed(s.api.world, { channel, address, orgId })

describe('POST /v1/notifications/admin/suppressions', () => {
  test('answers 201 with the address in full, and the key repeats', async () => {
    const headers = { ...s.clinicAdmin, 'idempotency-key': randomUUID() }
    const body = { channel: 'email', address: newAddress(), reason: 'Asked by phone' }
    const answer = await add(body, headers)
    const id = idOf(answer)
    expect(answer).toMatchObject({
      status: 201,
      etag: '"0"',
      headers: { location: `/v1/notifications${path}/${id}` },
      body: { ...body, orgId: s.clinic.orgId, createdAt: expect.any(String) },
    })
    expect((await get(id)).body).toEqual(answer.body)
    expect((await list()).body).toMatchObject({ data: expect.arrayContaining([answer.body]) })
    const again = await add(body, headers)
    expect([again.status, again.body, again.headers['idempotency-replayed']]).toEqual([201, answer.body, 'true'])
    expect(refusalOf(await add({ ...body, reason: 'Other' }, headers))).toBe('409 idempotency-key-reused')
    expect(refusalOf(await add(body))).toBe('409 suppression-exists')
  })

  test('compares e-mail addresses without case and script, and chat channels without case and #', async () => {
    const name = randomUUID()
    const address = `Zoe.${name}@xn--bcher-kva.example`
    expect((await add({ address: ` Zoe.${name}@B\u00fccher.example ` })).body).toMatchObject({ address })
    expect(refusalOf(await add({ address: `zoe.${name}@BU\u0308CHER.example` }))).toBe('409 suppression-exists')
    expect(await gate(`ZOE.${name}@XN--bcher-kva.EXAMPLE`)).toBe(true)
    const channel = `#Ward-${name}`
    expect((await add({ channel: 'slack', address: channel })).body).toMatchObject({ address: channel })
    expect(refusalOf(await add({ channel: 'slack', address: `ward-${name}` }))).toBe('409 suppression-exists')
    for (const same of [channel, `ward-${name}`, `#WARD-${name}`])
      expect(await gate(same, s.clinic.orgId, 'slack')).toBe(true)
    expect(await gate(`ward-${name}2`, s.clinic.orgId, 'slack')).toBe(false)
    expect(await gate(channel)).toBe(false)
  })

  test.each([
    [{ address: 'no address' }, '/address'],
    [{ address: 'a@b@c' }, '/address'],
    [{ address: 'a@localhost' }, '/address'],
    [{ address: 'a@example.org\r\nBcc: b@example.org' }, '/address'],
    [{ channel: 'slack', address: 'a b' }, '/address'],
    [{ channel: 'sms' }, '/channel'],
    [{ reason: '' }, '/reason'],
    [{ note: 'x' }, '/note'],
  ])('refuses %j', async (more, pointer) => {
    const answer = await add(more)
    expect(refusalOf(answer)).toBe(`400 validation-failed ${pointer}`)
    expect(JSON.stringify(answer.body)).not.toContain('example.org')
  })

  test('refuses an address of 255 characters', async () => {
    const address = `${randomUUID()}@${'a'.repeat(61)}.${'b'.repeat(61)}.${'c'.repeat(61)}.${'d'.repeat(32)}`
    expect(address).toHaveLength(255)
    expect(refusalOf(await add({ address }))).toBe('400 validation-failed /address')
    expect((await add({ address: address.slice(1) })).status).toBe(201)
  })

  test('may add an address again after its removal, and never by the old key', async () => {
    const body = { address: newAddress() }
    const headers = { ...s.clinicAdmin, 'idempotency-key': randomUUID() }
    const first = await add(body, headers)
    expect(refusalOf(await remove(idOf(first), { ...s.clinicAdmin, 'if-match': '"7"' }))).toBe(
      '412 precondition-failed',
    )
    expect((await remove(idOf(first))).status).toBe(204)
    expect([await gate(body.address), refusalOf(await remove(idOf(first)))]).toEqual([false, '404 not-found'])
    expect(refusalOf(await add(body, headers))).toBe('409 idempotency-key-reused')
    expect((await add(body)).status).toBe(201)
    expect(await gate(body.address)).toBe(true)
    await remove(idOf(first))
    expect(refusalOf(await add(body, headers))).toBe('409 idempotency-key-reused')
    expect(await gate(body.address)).toBe(false)
  })

  test('needs the scope or the permission notifications:admin', async () => {
    const reader = await s.api.token(s.clinic.orgId, ['notifications:read'])
    expect(refusalOf(await add({}, reader))).toBe('403 insufficient-scope')
    expect(refusalOf(await list('', reader))).toBe('403 insufficient-scope')
    expect((await add({}, await s.actor(randomUUID(), ['notifications:admin'], []))).status).toBe(201)
  })
})

describe('the suppression of an organisation', () => {
  test('holds for this organisation only, and is absent for others', async () => {
    const address = newAddress()
    const id = idOf(await add({ address }))
    expect([await gate(address), await gate(address, s.hospital.orgId)]).toEqual([true, false])
    expect(refusalOf(await get(id, s.hospitalAdmin))).toBe('404 not-found')
    expect(refusalOf(await remove(id, s.hospitalAdmin))).toBe('404 not-found')
    expect(idsIn(await list('?limit=200', s.hospitalAdmin))).not.toContain(id)
    // The same address in another organisation is another entry with another id.
    const other = await add({ address }, s.hospitalAdmin)
    expect([other.status, idOf(other) === id]).toEqual([201, false])
    expect((await remove(id, s.platform)).status).toBe(204)
    expect([await gate(address), await gate(address, s.hospital.orgId)]).toEqual([false, true])
  })
})

describe('the suppression of the platform', () => {
  test('holds for every organisation, and only platform clients change it', async () => {
    const address = newAddress()
    expect(refusalOf(await add({ address }, s.platform))).toBe('400 org-required')
    expect(refusalOf(await add({ address, orgId: null }))).toBe('403 platform-client-required')
    const id = idOf(await add({ address, orgId: null }, s.platform))
    expect([await gate(address), await gate(address, s.hospital.orgId)]).toEqual([true, true])
    expect((await get(id)).body).toMatchObject({ address, orgId: null })
    expect(idsIn(await list(`?limit=200&orgId=${s.clinic.orgId}`))).not.toContain(id)
    expect(refusalOf(await remove(id))).toBe('403 platform-client-required')
    // Unique together with the organisation.
    expect((await add({ address })).status).toBe(201)
    expect(refusalOf(await add({ address, orgId: null }, s.platform))).toBe('409 suppression-exists')
    expect((await remove(id, s.platform)).status).toBe(204)
    expect([await gate(address), await gate(address, s.hospital.orgId)]).toEqual([true, false])
  })
})
