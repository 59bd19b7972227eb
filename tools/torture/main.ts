import { randomInt } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { isWhole, reportOf } from './report.ts'
import { torture } from './run.ts'
import { describeStrike, kinds, scheduleOf } from './schedule.ts'

const usage = `Kills a platform of separate processes at random moments under load, and lets the cluster of its event store fail,
then checks its promises. Linux only.

  npm run torture -- --kills N [--kinds K,K] [--seed S] [--users U] [--backups B] [--json FILE] [--plan]

  --kills N    strikes; default 40
  --kinds K,K  kinds of strikes: kill (kill -9 of one process or of several at once), suspend (one process stands
               still), silence (the leader drops the bytes of open connections), hang (it leaves appends unanswered),
               quorum (no node leads); default all.
               With ESDB_URL the event store is that one, which must be empty, and the kinds are kill and suspend
  --seed S     repeats a schedule: the victims, and the pause after the recovery or the previous strike.
               The state of the processes at that moment depends on the operating system and varies
  --users U    users that write at the same time; default 4
  --backups B  backups amid the strikes, each restored at the end; default one for ten strikes, from 1 to 10.
               None with ESDB_URL
  --json FILE  also writes the result to a file
  --plan       prints the schedule and exits
`

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '40' },
    kinds: { type: 'string', default: kinds.join(',') },
    seed: { type: 'string' },
    users: { type: 'string', default: '4' },
    backups: { type: 'string' },
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
  const realUrl = process.env['ESDB_URL']
  const named = values.kinds.split(',')
  const unknown = named.filter((name) => !kinds.some((kind) => kind === name))
  if (unknown.length > 0) throw new Error(`--kinds names what is not among ${kinds.join(', ')}: ${unknown.join(', ')}`)
  const chosen = kinds.filter(
    (kind) => named.includes(kind) && (realUrl === undefined || ['kill', 'suspend'].includes(kind)),
  )
  if (chosen.length === 0) throw new Error(`--kinds names none of: ${kinds.join(', ')}`)
  const usual = Math.min(Math.max(Math.floor(strikes / 10), 1), 10)
  const backups = realUrl !== undefined ? 0 : values.backups === undefined ? usual : countOf(values.backups)
  const schedule = scheduleOf(seed, strikes, chosen)
  say(`torture seed ${seed}, ${strikes} strikes`)
  if (values.plan) {
    for (const strike of schedule) say(describeStrike(strike))
    return
  }
  const calledOff = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM'] as const)
    process.on(name, () => calledOff.abort(new Error(`stopped by ${name}`)))
  try {
    const given = { seed, schedule, ...(realUrl === undefined ? {} : { realUrl }) }
    const result = await torture({ ...given, users: countOf(values.users), backups, signal: calledOff.signal, say })
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
