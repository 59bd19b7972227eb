import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startPlatformProcess } from '../../../app/demo/platform-process.ts'
import { freePort } from '../../../embedded/children/free-port.ts'
import { startPostgres } from '../../../embedded/postgres/start-postgres.ts'
import type { Benchmark } from '../harness/benchmark.ts'
import { atMost } from '../harness/compare.ts'
import { withScope } from '../harness/scope.ts'
import { processorSeconds, processTree, tellsOfProcesses } from '../harness/process-tree.ts'

/** As many as `npm start` has: the platform, the event store, the holder of Postgres, and the other servers together. */
const nodeProcesses = 4
const goals = [
  { name: 'start with an empty data folder, all processes', most: 7.5 },
  { name: 'second start, all processes', most: 15 },
] as const

/** Processor time of `npm start` until it is ready, over what Node.js and Postgres alone take to start. */
export const platformStart: Benchmark = {
  name: 'start',
  goals: ['start'],
  about: 'processor time of npm start until it is ready, over bare Node.js and Postgres',
  run: async (_, { compare, notRun }) => {
    if (!tellsOfProcesses) {
      for (const { name } of goals) notRun({ goal: 'start', name, why: 'processor time is only readable in /proc' })
      return
    }
    await compare({
      goal: 'start',
      figures: goals.map(({ name, most }) => ({ name, unit: 's', goal: atMost(most) })),
      ours: { name: 'npm start', measure: () => twice(platformIn) },
      other: { name: 'node four times, and Postgres', measure: () => twice(bareIn) },
    })
  },
}

/** Seconds of a start in an empty folder, and of another one in the same folder. */
async function twice(secondsIn: (folder: string) => Promise<number>): Promise<readonly number[]> {
  return withScope(async ({ folder }) => [await secondsIn(folder), await secondsIn(folder)])
}

async function platformIn(folder: string): Promise<number> {
  const platform = await startPlatformProcess(folder, { PORT: '0', BASE_URL: '', LOG_LEVEL: 'warn' })
  try {
    const ready = await fetch(`${platform.credentials.base_url}/health/ready`)
    if (!ready.ok) throw new Error(`the platform has started and is not ready: ${await ready.text()}`)
    return await processorSeconds(await processTree(platform.pid, []))
  } finally {
    await platform.stop()
  }
}

async function bareIn(folder: string): Promise<number> {
  const before = await processorSeconds([process.pid], 'ended children')
  for (let count = 0; count < nodeProcesses; count += 1) await promisify(execFile)(process.execPath, ['--eval', '0'])
  const ofNode = (await processorSeconds([process.pid], 'ended children')) - before
  const options = { dataDir: join(folder, 'postgres'), port: await freePort(), password: 'bare', databases: [] }
  const postgres = await startPostgres(options)
  try {
    return ofNode + (await processorSeconds(await processTree(postgres.pid, [])))
  } finally {
    await postgres.stop()
  }
}
