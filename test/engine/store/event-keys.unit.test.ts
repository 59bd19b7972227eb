import { createSecretKey, randomBytes } from 'node:crypto'
import { afterEach, expect, test, vi } from 'vitest'
import { EventKeys, type SignedEvent } from '../../../engine/store/event-keys.ts'
import { createSigner } from '../../../engine/store/signature.ts'
import type { EventKey, EventKeyEnd } from '../../../platform/kit/key-vault.ts'

afterEach(() => void vi.useRealTimers())

const newKey = (id: string, end?: EventKeyEnd): EventKey => ({ id, key: createSecretKey(randomBytes(32)), end })
const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1) + seconds * 1000)
const end: EventKeyEnd = { position: { commit: 100n, prepare: 100n }, at: at(0) }

/** A vault whose keys a test replaces, newest first. */
function vaultOf(...keys: EventKey[]) {
  return {
    keys,
    reads: 0,
    async eventKeys(): Promise<readonly EventKey[]> {
      this.reads += 1
      return this.keys
    },
  }
}

function eventBy({ id, key }: EventKey, position: number, created: Date): SignedEvent {
  const place = { stream: 'visit-1', revision: BigInt(position), id: `event-${position}`, type: 'VisitNoted' }
  const metadata = createSigner(key, id).sign(place, '{}', '{"schemaVersion":1}')
  const bytes = { dataBytes: Buffer.from('{}'), metadataBytes: Buffer.from(metadata) }
  return { ...place, ...bytes, created, position: { commit: BigInt(position), prepare: BigInt(position) } }
}

test('an event names its key, and no other key verifies it', async () => {
  const [first, second] = [newKey('first', end), newKey('AbCd-_12')]
  const keys = await EventKeys.open(vaultOf(second, first))
  const bySecond = eventBy(second, 7, at(0))
  expect(JSON.parse(Buffer.from(bySecond.metadataBytes).toString())).toMatchObject({
    schemaVersion: 1,
    key: 'AbCd-_12',
  })
  expect(Buffer.from(eventBy(first, 7, at(0)).metadataBytes).toString()).not.toContain('"key"')
  expect(keys.isSigned(bySecond)).toBe(true)
  expect(keys.isSigned(eventBy({ ...first, id: second.id }, 7, at(0)))).toBe(false)
  expect(keys.isSigned(eventBy({ ...second, id: first.id }, 7, at(0)))).toBe(false)
  const renamed = Buffer.from(Buffer.from(bySecond.metadataBytes).toString().replace('AbCd-_12', 'AbCd-_13'))
  expect(await keys.isSigned({ ...bySecond, metadataBytes: renamed })).toBe(false)
})

test('an older key counts before its end and for a minute behind it', async () => {
  const [first, second] = [newKey('first', end), newKey('AbCd-_12')]
  const keys = await EventKeys.open(vaultOf(second, first))
  expect(keys.isSigned(eventBy(first, 99, at(3600)))).toBe(true)
  expect(keys.isSigned(eventBy(first, 101, at(60)))).toBe(true)
  expect(keys.isSigned(eventBy(first, 101, at(60.001)))).toBe(false)
  expect(keys.isSigned(eventBy(second, 101, at(3600)))).toBe(true)
})

test('a key that this process does not know is read when an event names it, also twice in a row', async () => {
  const [first, second, third] = [newKey('first'), newKey('AbCd-_12'), newKey('EfGh-_34')]
  const vault = vaultOf(first)
  const keys = await EventKeys.open(vault)
  const before = await keys.signer()
  vault.keys = [second, { ...first, end }]
  expect(await keys.isSigned(eventBy(second, 101, at(1)))).toBe(true)
  vault.keys = [third, { ...second, end }, { ...first, end }]
  expect(await keys.isSigned(eventBy(third, 102, at(2)))).toBe(true)
  expect(await keys.signer()).not.toBe(before)
  const place = { stream: 'visit-1', revision: 0n, id: 'event', type: 'VisitNoted' }
  expect((await keys.signer()).sign(place, '{}', '{}')).toContain(third.id)
  // Known keys need no read.
  expect([keys.isSigned(eventBy(second, 99, at(0))), keys.isSigned(eventBy(first, 105, at(70)))]).toEqual([true, false])
  expect(vault.reads).toBe(3)
})

test('a read that began before the key was stored does not hide the key', async () => {
  const [first, second] = [newKey('first'), newKey('AbCd-_12')]
  const vault = vaultOf(first)
  const keys = await EventKeys.open(vault)
  const slow = Promise.withResolvers<readonly EventKey[]>()
  vault.eventKeys = () => slow.promise
  const reading = keys.refresh()
  const isSigned = keys.isSigned(eventBy(second, 101, at(1)))
  vault.eventKeys = async () => [second, { ...first, end }]
  slow.resolve([first])
  await reading
  expect(await isSigned).toBe(true)
})

test('keys of strangers are asked for once', async () => {
  const vault = vaultOf(newKey('first'))
  const keys = await EventKeys.open(vault)
  const strange = newKey('Stranger')
  for (const position of [1, 2, 3]) expect(await keys.isSigned(eventBy(strange, position, at(0)))).toBe(false)
  expect(vault.reads).toBe(2)
})

test('while the vault is away, an event with an unknown key is not refused but fails, and known keys still sign', async () => {
  const vault = vaultOf(newKey('first'))
  const keys = await EventKeys.open(vault)
  vault.eventKeys = () => Promise.reject(new Error('connection refused'))
  await expect(keys.isSigned(eventBy(newKey('AbCd-_12'), 1, at(0)))).rejects.toThrow('connection refused')
  expect(await keys.signer()).toBe(keys.newest)
})

test('after a silence a process reads the keys before it signs, and waits two seconds for a vault that is away', async () => {
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] })
  const [first, second] = [newKey('first'), newKey('AbCd-_12')]
  const vault = vaultOf(first)
  const keys = await EventKeys.open(vault)
  vault.keys = [second, first]
  vi.advanceTimersByTime(19_999)
  expect(keys.signer()).toBe(keys.newest)
  vi.advanceTimersByTime(1)
  const place = { stream: 'visit-1', revision: 0n, id: 'event', type: 'VisitNoted' }
  expect((await keys.signer()).sign(place, '{}', '{}')).toContain(second.id)

  vault.eventKeys = () => new Promise(() => undefined)
  vi.advanceTimersByTime(20_000)
  const signer = keys.signer()
  await vi.advanceTimersByTimeAsync(2_000)
  expect(await signer).toBe(keys.newest)
})

test('after its machine has slept a process reads the keys before it signs', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] })
  const [first, second] = [newKey('first'), newKey('AbCd-_12')]
  const vault = vaultOf(first)
  const keys = await EventKeys.open(vault)
  vault.keys = [second, first]
  // Only one of the clocks goes on meanwhile.
  vi.setSystemTime(Date.now() + 3_600_000)
  const place = { stream: 'visit-1', revision: 0n, id: 'event', type: 'VisitNoted' }
  expect((await keys.signer()).sign(place, '{}', '{}')).toContain(second.id)
  expect(keys.signer()).toBe(keys.newest)
})
