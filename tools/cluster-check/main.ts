import { exec } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { parseArgs, promisify } from 'node:util'
import { isWhole, reportOf } from '../torture/report.ts'
import { torture } from '../torture/run.ts'
import type { ClusterStrike, Strike } from '../torture/schedule.ts'

const usage = `Runs the platform on a cluster under a steady load, while commands make its nodes fail. Then it reads $all, checks that
nothing acknowledged is lost or doubled, and prints how long writes and each follower stood still. Linux only.

  ESDB_URL=… npm run cluster:check -- --fail CMD --return CMD [--fail CMD --return CMD …] [--rounds N] [--seconds S]

  ESDB_URL      the cluster. It must be empty
  --fail CMD    a shell command that stops, kills or pauses nodes, for example 'docker pause node1'
  --return CMD  the command that ends this failure, for example 'docker unpause node1'
  --rounds N    how often all failures happen, one after the other; default 1
  --seconds S   how long each lasts; default 20
  --rest S      seconds between two failures, after all followers went on; default 5
  --users U     users that write at the same time; default 4
  --json FILE   also writes the result to a file
`

const { values } = parseArgs({
  options: {
    fail: { type: 'string', multiple: true, default: [] },
    return: { type: 'string', multiple: true, default: [] },
    rounds: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '20' },
    rest: { type: 'string', default: '5' },
    users: { type: 'string', default: '4' },
    json: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})

const say = (line: string) => void process.stdout.write(`${line}\n`)
const run = promisify(exec)
/** What the official client rejects, where nobody awaits it, while a cluster has no leader (docs/event-store-hazards.md, C20). */
const gaveUp = /Failed to discover after \d+ attempts/

function positive(name: string, text: string): number {
  const value = Number(text)
  if (!(value > 0)) throw new Error(`--${name} is no number above 0: ${text}`)
  return value
}

async function main(): Promise<void> {
  const realUrl = process.env['ESDB_URL']
  if (realUrl === undefined) throw new Error('ESDB_URL names no cluster')
  const { fail, return: back } = values
  if (fail.length === 0 || fail.length !== back.length)
    throw new Error('each --fail needs a --return, and one is needed')
  const [seconds, rest] = [positive('seconds', values.seconds), positive('rest', values.rest)]
  const commands = new Map<ClusterStrike, number>()
  const round = (): Strike[] =>
    fail.map((name, index) => {
      const cluster = { name, lastsMs: seconds * 1_000 }
      commands.set(cluster, index)
      return { after: 'recovery', pauseMs: rest * 1_000, victims: [], cluster }
    })
  const schedule = Array.from({ length: positive('rounds', values.rounds) }, round).flat()
  const calledOff = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM'] as const)
    process.on(name, () => calledOff.abort(new Error(`stopped by ${name}`)))
  process.on('unhandledRejection', (reason) => {
    if (!(reason instanceof Error && gaveUp.test(reason.message))) throw reason
  })
  const result = await torture({
    seed: 1,
    schedule,
    users: positive('users', values.users),
    backups: 0,
    realUrl,
    async fail(strike) {
      const index = commands.get(strike) ?? 0
      await run(fail[index] ?? '')
      return async () => void (await run(back[index] ?? ''))
    },
    signal: calledOff.signal,
    say,
  })
  say(`\n${reportOf(result)}`)
  for (const { failure, writesMs, followers } of result.standstills) {
    say(`\n${failure.name}: writes stood still for ${writesMs} ms`)
    for (const [name, ms] of followers) say(`  ${name}: ${ms} ms`)
  }
  if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify(result, null, 2)}\n`)
  process.exitCode = isWhole(result) ? 0 : 1
}

if (values.help) say(usage)
else await main()
process.exit()
