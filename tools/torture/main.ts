import { randomInt } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { isWhole, reportOf } from './report.ts'
import { torture } from './run.ts'
import { describeStrike, scheduleOf } from './schedule.ts'

const usage = `Kills a platform of separate processes at random moments under load, then checks its promises. Linux only.

  npm run torture -- --kills N [--seed S] [--users U] [--json FILE] [--plan]

  --kills N    strikes of kill -9, each on one process or on several at once; default 40
  --seed S     repeats a schedule: the victims, and the pause after the recovery or the previous strike.
               The state of the processes at that moment depends on the operating system and varies
  --users U    users that write at the same time; default 4
  --json FILE  also writes the result to a file
  --plan       prints the schedule and exits
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
  if (!Number.isSafeInteger(count) || count < 0) throw new Error(`not a whole number of at least 0: ${text}`)
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
    process.on(name, () => calledOff.abort(new Error(`stopped by ${name}`)))
  try {
    const result = await torture({ seed, strikes, users: countOf(values.users), signal: calledOff.signal, say })
    say(`\n${reportOf(result)}`)
    if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify(result, null, 2)}\n`)
    process.exitCode = isWhole(result) ? 0 : 1
  } catch (error) {
    if (!calledOff.signal.aborted) throw error
    say('stopped; no process is left running')
    process.exitCode = 130
  }
}

if (values.help) process.stdout.write(usage)
else await main()
process.exit()
