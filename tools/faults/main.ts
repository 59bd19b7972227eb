import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { faults } from './faults.ts'
import type { Observation } from './outcomes.ts'
import { describeFault, heading, rowOf } from './report.ts'
import { runFault } from './run-fault.ts'
import { openStage } from './stage/stage.ts'

const usage = `Makes the components that a platform depends on fail under load, and prints the answers of each caller.

  npm run faults -- [--short] [--list] [--json FILE] [part of a name ...]

  --short      a few seconds of each fault instead of its full duration
  --list       prints the names and exits
  --json FILE  also writes the results to a file

  ESDB_URL     an event store of your own, which must be empty. Its own faults, and those of disks and clocks, do not run
`

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    short: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    json: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})

const say = (line: string) => void process.stdout.write(`${line}\n`)

async function main(): Promise<void> {
  const url = process.env['ESDB_URL'] ?? ''
  const chosen = faults.filter(
    ({ name, server }) =>
      (positionals.length === 0 || positionals.some((part) => name.includes(part))) &&
      (url === '' || (server !== undefined && server !== 'event store')),
  )
  const idle = positionals.filter((part) => !chosen.some(({ name }) => name.includes(part)))
  if (idle.length > 0) throw new Error(`no fault that can run here has in its name: ${idle.join(', ')}`)
  if (values.list) {
    for (const fault of chosen) say(describeFault(fault))
    return
  }
  const lasting = url === '' ? undefined : { url, dataDir: await mkdtemp(join(tmpdir(), 'faults-')) }
  const seen: Observation[] = []
  for (const fault of chosen) {
    const seconds = values.short ? fault.seconds.short : fault.seconds.full
    say(`${fault.name}, ${seconds} s: ${fault.means}`)
    const ground = await fault.prepare().catch((error: unknown) => {
      say(`  not run: ${error instanceof Error ? error.message : String(error)}`)
      return undefined
    })
    if (ground === undefined) continue
    // On a busy machine the platform may need longer to start than the starter waits. So the start is tried twice.
    const stage = await openStage(ground.options, lasting).catch(() => openStage(ground.options, lasting))
    try {
      const observation = await runFault(stage, fault, ground, seconds)
      seen.push(observation)
      for (const wrong of observation.wrong) say(`  WRONG: ${wrong}`)
      if (observation.wrong.length > 0) say(stage.platform.output().split('\n').slice(-20).join('\n'))
      say(`  ${rowOf(observation)}`)
    } finally {
      await stage.close()
      await ground.release()
    }
  }
  if (lasting !== undefined) await rm(lasting.dataDir, { recursive: true, force: true })
  say(`\n${heading}\n${seen.map(rowOf).join('\n')}`)
  if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify(seen, null, 2)}\n`)
  process.exitCode = seen.some(({ wrong }) => wrong.length > 0) ? 1 : 0
}

if (values.help) say(usage)
else await main()
process.exit()
