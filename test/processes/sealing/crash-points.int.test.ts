import { afterAll, beforeAll, expect, test } from 'vitest'
import type { SealingServers } from '../../../processes/sealing/log-writer.ts'
import type { LogSealEvent } from '../../../streams/log-seals/events.ts'
import { blockLeaves, blockPath } from '../../../contracts/audit/log-objects.ts'
import { sealedPartOf } from '../../../contracts/audit/log-record.ts'
import { logSealsOf } from '../../../contracts/audit/log-seals.ts'
import { observed } from '../../engine/commands/decision-world.ts'
import { KilledError } from '../users/mortal-process.ts'
import { openSealingWorld, type SealingWorld } from './sealing-world.ts'

// Each row of the sealed log in the table of crashes of docs/reliability.md.

let world: SealingWorld
beforeAll(async () => {
  world = await openSealingWorld()
})
afterAll(() => world.close())

/** The servers of a process that is killed before its nth effect, and the names of its effects. */
function mortal(effects: number): { readonly servers: SealingServers; readonly done: string[] } {
  const done: string[] = []
  let isDead = false
  const act = (name: string): void => {
    isDead ||= done.length === effects
    if (isDead) throw new KilledError()
    done.push(name)
  }
  const acts = new Set(['put', 'remove', 'removeVersions', 'append', 'replaceRecord'])
  const watch = <Server extends object>(server: Server) =>
    observed(server, (name) => {
      if (acts.has(name)) act(name)
      else if (isDead) throw new KilledError()
    })
  const { store, vault, objects, failpoint } = world.servers
  return { servers: { store: watch(store), vault: watch(vault), objects: watch(objects), failpoint }, done }
}

/** Their type is the only one that the stream has. */
async function seals(): Promise<LogSealEvent[]> {
  const events: LogSealEvent[] = []
  for await (const event of logSealsOf(world.store)) events.push(event)
  return events
}

test('a process that is killed before any of its effects leaves a log that the next one continues', async () => {
  const seen = new Set<string>()
  for (let effects = 0; ; effects += 1) {
    // Over the edge of a tile, so that tiles become full and partial ones are removed.
    await world.write(effects === 0 ? 250 : 3)
    const { servers, done } = mortal(effects)
    const outcome = await world.sealAll(servers).then(
      () => 'sealed',
      (error: unknown) => (error instanceof KilledError ? 'killed' : Promise.reject(error)),
    )
    seen.add(`${done.length} ${done.at(-1) ?? 'nothing'}`)
    await world.write(1)
    await world.sealAll()
    const { size } = await world.checkedCheckpoint()
    expect(size).toBe((await world.stored()).length)
    const sizes = (await seals()).flatMap((event) => (event.type === 'LogSealed' ? [event.data.size] : []))
    expect(sizes).toEqual([...new Set(sizes)].toSorted((a, b) => a - b))
    expect(sizes.at(-1)).toBe(size)
    if (outcome === 'sealed') break
  }
  // Tiles and index, the record in the vault, the event, the removal of what is replaced.
  expect(seen.size).toBeGreaterThanOrEqual(5)
  expect([...seen].join()).toMatch(/put.*replaceRecord.*append.*remove/)
})

test('a seal that is in the vault only is completed by the next process, with its own size', async () => {
  await world.write(2)
  const before = (await seals()).length
  const { servers } = mortal(Number.POSITIVE_INFINITY)
  const withoutAppend = observed(servers.store, (name) => {
    if (name === 'append') throw new KilledError()
  })
  await expect(world.sealAll({ ...servers, store: withoutAppend })).rejects.toThrow(KilledError)
  const kept = await world.checkedCheckpoint()
  expect(await seals()).toHaveLength(before)
  await world.write(1)
  await world.sealAll()
  const added = (await seals()).slice(before)
  expect(added.map((event) => event.type === 'LogSealed' && event.data.size)).toEqual([kept.size, kept.size + 1])
})

test('of two processes that seal at once, one fails and nothing is lost', async () => {
  await world.write(2)
  const outcomes = await Promise.allSettled([world.sealAll(), world.sealAll()])
  expect(outcomes.some(({ status }) => status === 'fulfilled')).toBe(true)
  await world.write(1)
  await world.sealAll()
  expect((await world.checkedCheckpoint()).size).toBe((await world.stored()).length)
})

test('a vault that is older than the seals goes on from the newest seal', async () => {
  const older = await world.vault.record('sealed-log')
  await world.write(1)
  await world.sealAll()
  const newer = await world.vault.record('sealed-log')
  if (older === undefined || newer === undefined) throw new Error('nothing is sealed')
  await world.vault.replaceRecord('sealed-log', newer, older.bytes)
  const { checkpoint } = await world.sealAll()
  expect(checkpoint?.size).toBe((await world.stored()).length)
  await world.write(1)
  await world.sealAll()
  expect((await world.checkedCheckpoint()).size).toBe((await world.stored()).length)
})

test('a seal removes the block of the index that it replaces, in every version of a bucket that keeps them', async () => {
  await world.write(1)
  await world.sealAll()
  const { size } = sealedPartOf(await world.record())
  const former = `log/${blockPath(Math.floor(size / blockLeaves), size % blockLeaves)}`
  const modifiedAt = new Date()
  const removed: (readonly [string, string | undefined])[] = []
  const objects: SealingServers['objects'] = {
    ...world.objects,
    async *listVersions(prefix) {
      for await (const { key } of world.objects.list(prefix)) {
        const versions = ['older', 'newer', 'mark'].map((id) => ({ id, modifiedAt }))
        yield* [
          { key, versions },
          { key: `${key}0`, versions },
        ]
      }
    },
    async remove(key, id) {
      removed.push([key, id])
      await world.objects.remove(key)
    },
  }
  await world.write(1)
  await world.sealAll({ ...world.servers, objects })
  expect(removed).toEqual(['older', 'newer', 'mark'].map((id) => [former, id]))
  await world.checkedCheckpoint()
})
