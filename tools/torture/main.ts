import { randomInt } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { isWhole, reportOf } from './report.ts'
import { torture } from './run.ts'
import { describeStrike, scheduleOf } from './schedule.ts'

const usage = `Kills a platform of separate processes at random moments under load, then looks at what is left of its promises. On Linux.

  npm run torture -- --kills N [--seed S] [--users U] [--json FILE] [--plan]

  --kills N    strikes of kill -9, each on one process or on several at once; 40 unless said
  --seed S     repeats a schedule: who is struck, how long after the recovery or the strike before. What the processes were
               doing at that moment is the operating system's, and does not come again
  --users U    users that write at the same time; 4 unless said
  --json FILE  writes the result there too
  --plan       prints the schedule and does nothing
`

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '40' },
    seed: { type: 'string' },
    users: { type: 'string', default: '4' },
    json: { type: 'string' },
    plan: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

function countOf(text: string): number {
  const count = Number(text)
  if (!Number.isSafeInteger(count) || count < 0) throw new Error(`not a number that counts: ${text}`)
  return count
}

const say = (line: string) => void process.stdout.write(`${line}\n`)

async function main(): Promise<void> {
  const seed = values.seed === undefined ? randomInt(2 ** 31) : countOf(values.seed)
  const strikes = countOf(values.kills)
  say(`torture seed ${seed}, ${strikes} kills`)
  if (values.plan) {
    for (const strike of scheduleOf(seed, strikes)) say(describeStrike(strike))
    return
  }
  const calledOff = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM'] as const)
    process.on(name, () => calledOff.abort(new Error(`called off by ${name}`)))
  try {
    const result = await torture({ seed, strikes, users: countOf(values.users), signal: calledOff.signal, say })
    say(`\n${reportOf(result)}`)
    if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify(result, null, 2)}\n`)
    process.exitCode = isWhole(result) ? 0 : 1
  } catch (error) {
    if (!calledOff.signal.aborted) throw error
    say('called off; nothing is left running')
    process.exitCode = 130
  }
}

if (values.help) process.stdout.write(usage)
else await main()
process.exit()
