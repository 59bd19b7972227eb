import { namedFindings } from './facts.ts'
import type { TortureResult } from './run.ts'
import type { Standstill } from './stage/standstill.ts'

/** The result as text: the counts, then the findings. */
export function reportOf(result: TortureResult): string {
  const { seed, kills, load, events, outcomes, subscriberDrops, seconds, checks, folder } = result
  const counted = (counts: Readonly<Record<string, number>>) =>
    Object.entries(counts)
      .map(([name, count]) => `${name}: ${count}`)
      .join(', ')
  const width = Math.max(...checks.map(({ check }) => check.length))
  const found = checks.flatMap(({ check, findings }) => [
    ...findings.slice(0, namedFindings).map(({ what, where }) => `  ${check}: ${what}\n    ${where}`),
    ...(findings.length > namedFindings ? [`  ${check}: ${findings.length - namedFindings} more`] : []),
  ])
  return [
    `seed ${seed}: ${kills.strikes} strikes, ${kills.killed} processes killed, ${kills.amidRecovery} strikes during a recovery, longest recovery ${(kills.longestRecoveryMs / 1000).toFixed(1)} s`,
    `${load.sent} requests (${load.repeated} repeats of unanswered ones), ${events} events, ${subscriberDrops} subscriptions of the follower broken or refused`,
    `answers: ${counted(load.answers)}`,
    `assessments: ${counted(outcomes)}`,
    `${seconds.strikes} s of strikes, ${seconds.finishing} s to finish, ${seconds.all} s in total`,
    ...standstillRows(result),
    '',
    ...checks.map(
      ({ check, examined, findings }) =>
        `${check.padEnd(width)}  ${String(examined).padStart(6)}  ${findings.length === 0 ? 'holds' : `${findings.length} FOUND`}`,
    ),
    ...(found.length === 0 ? [] : ['', ...found, `kept: ${folder}`]),
  ].join('\n')
}

export function isWhole({ checks }: TortureResult): boolean {
  return checks.every(({ findings }) => findings.length === 0)
}

/** What each kind of failure of the cluster cost at most. */
function standstillRows({ standstills }: TortureResult): readonly string[] {
  const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`
  return [...Map.groupBy(standstills, ({ failure }) => failure.name)].map(([name, all]) => {
    const most = (of: (one: Standstill) => number) => seconds(Math.max(...all.map(of)))
    const [slowest, ms] = all
      .map(({ followers }) => followers[0] ?? (['none', 0] as const))
      .reduce((longest, one) => (one[1] > longest[1] ? one : longest))
    return [
      `${all.length} times: ${name}, for up to ${most(({ failure }) => failure.to - failure.from)}`,
      `  writes stood still for up to ${most((one) => one.writesMs)}, followers for up to ${seconds(ms)} (${slowest}); the last follower went on ${most((one) => one.goneOnMs)} after the return`,
    ].join('\n')
  })
}
