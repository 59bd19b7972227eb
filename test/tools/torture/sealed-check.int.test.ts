import { afterAll, beforeAll, expect, test } from 'vitest'
import { logFolder, putObject } from '../../../contracts/audit/log-objects.ts'
import { readWholeLog } from '../../../tools/torture/stage/log-reader.ts'
import { checkSeals } from '../../../tools/torture/stage/sealed.ts'
import type { Fact } from '../../../tools/torture/facts.ts'
import { freshDatabase, type FreshDatabase } from '../../support/postgres.ts'
import { openSealingWorld, type SealingWorld } from '../../processes/sealing/sealing-world.ts'

let world: SealingWorld
let log: readonly Fact[]
let database: FreshDatabase

beforeAll(async () => {
  ;[world, database] = await Promise.all([openSealingWorld(), freshDatabase()])
  await world.write(300)
  await world.sealAll()
  await world.write(20)
  await world.sealAll()
  log = await readWholeLog(world.url, 'forwards')
})
afterAll(() => Promise.all([world.close(), database.drop()]))

function check(facts: readonly Fact[]) {
  const settings = { ...world.env, DATABASE_URL: database.url }
  return checkSeals({ settings, esdbUrl: world.url }, facts, 100)
}

test('finds nothing in a log that was sealed to its end', async () => {
  const { check: name, examined, findings } = await check(log)
  expect({ name, examined, findings }).toEqual({
    name: 'sealed log: 2 checkpoints, and every event as it was sealed',
    examined: 320,
    findings: [],
  })
})

test('finds events that no seal covers', async () => {
  await world.write(1)
  expect(await check(await readWholeLog(world.url, 'forwards'))).toMatchObject({
    examined: 321,
    findings: [{ what: 'the newest seal covers 320 of 321 events' }],
  })
})

test('finds a changed tile, which no older checkpoint fits either', async () => {
  await putObject(world.objects, `${logFolder(1)}tile/0/001.p/64`, Buffer.alloc(64 * 32, 1))
  const { findings } = await check(log)
  const found = findings.map(({ what }) => what)
  expect(found).toContain('the checkpoint of 300 is not the beginning of the newest')
  expect(found.some((what) => what.startsWith('changed: '))).toBe(true)
})
