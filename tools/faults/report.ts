import type { Fault } from './fault.ts'
import { summaryOf, type CallerName, type Observation } from './outcomes.ts'

const columns: readonly (readonly [string, readonly CallerName[]])[] = [
  ['API write', ['write: assessment', 'write: patient']],
  ['API read', ['read: record', 'read: list']],
  ['Token', ['token']],
]

export const heading = [
  '| Fault, for | API write | API read | Token | Subscriber of a channel | Health |',
  '|---|---|---|---|---|---|',
].join('\n')

/** One row of the table in docs/reliability.md. */
export function rowOf(seen: Observation): string {
  const answers = columns.map(([, callers]) => callers.map((caller) => summaryOf(seen.outcomes, caller)).join('<br>'))
  const { drops, events } = seen.subscriber
  const subscriber = `${drops === 0 ? 'stays connected' : `dropped ${drops} times`}; all ${events} events once, in order`
  const health =
    seen.health.length === 0
      ? 'does not show it'
      : `${seen.health
          .toSorted()
          .map((name) => `\`${name}\``)
          .join(
            ', ',
          )} after ${((seen.shownMs ?? 0) / 1000).toFixed(1)} s; gone ${(seen.clearedMs / 1000).toFixed(1)} s after its end`
  return `| ${seen.fault}, ${seen.seconds} s | ${[...answers, subscriber, health].join(' | ')} |`
}

export function describeFault({ name, means, seconds }: Fault): string {
  return `${name.padEnd(40)} ${String(seconds.full).padStart(3)} s  ${means}`
}
