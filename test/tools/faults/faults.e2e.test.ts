import { spawnSync } from 'node:child_process'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { faultNamed } from '../../../tools/faults/faults.ts'
import { runFault } from '../../../tools/faults/run-fault.ts'
import { openStage, type Stage } from '../../../tools/faults/stage/stage.ts'

let stage: Stage

beforeAll(async () => {
  stage = await openStage()
})

afterAll(() => stage.close())

test.each([
  'event store out of room by a limit',
  'event store cut off every 700 ms',
  'Postgres refuses writes for want of room',
  'object store restarted',
])('%s: every answer is documented, health shows the fault and its end, nothing is lost', async (name) => {
  const fault = faultNamed(name)
  const ground = await fault.prepare()
  const seen = await runFault(stage, fault, ground, fault.seconds.short)
  expect(seen.wrong).toEqual([])
  expect(seen.outcomes.length).toBeGreaterThan(10)
  expect(seen.acknowledged).toBeGreaterThan(2)
})

test('the command refuses a name that no fault has, and does not pass', () => {
  const args = ['tools/faults/main.ts', '--list', 'object store', 'postgras']
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  expect([status, stderr.includes(': postgras')]).toEqual([1, true])
})
