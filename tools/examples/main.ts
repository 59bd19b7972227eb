import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startChannelStore } from './channel-store.ts'
import { startExample } from './example-run.ts'
import { killWhileEventsArrive } from './kills.ts'
import { readTotals } from './totals-file.ts'

const usage = `Kills a consumer of examples/ at random moments while events arrive. Then its tables must have each event exactly once.

  npm run examples:check -- typescript-consumer|python-consumer|go-consumer [--kills N]

  --kills N   default 20
`

async function main(): Promise<number> {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { kills: { type: 'string', default: '20' } },
  })
  const [example] = positionals
  if (example === undefined || !/^(?:typescript|python|go)-consumer$/.test(example)) {
    process.stderr.write(usage)
    return 2
  }
  const store = await startChannelStore()
  const channel = await store.newChannel()
  const folder = await mkdtemp(join(tmpdir(), 'examples-'))
  try {
    const database = join(folder, 'totals.sqlite')
    const orgId = randomUUID()
    const start = () => startExample(example, [], { ...channel.consumer, DATABASE: database })
    const readTable = () => readTotals(database)
    const published = await killWhileEventsArrive(channel, orgId, Number(values.kills), start, readTable)
    const handled = readTable().handled()
    const counted = readTable().counts()[orgId] ?? 0
    const figures = `${published.length} events, ${handled.length} handled, ${counted} counted`
    process.stdout.write(`${values.kills} kills, ${figures}\n`)
    const isOnce = handled.toSorted().join() === published.toSorted().join() && counted === published.length
    return isOnce ? 0 : 1
  } finally {
    await store.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

process.exitCode = await main()
