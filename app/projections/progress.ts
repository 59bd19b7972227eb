import type { RebuildProgress } from '../../engine/rebuild/context.ts'

export interface ProgressOutput {
  readonly write: (text: string) => void
  /** True redraws one line; false prints a new line every few seconds. */
  readonly isTerminal: boolean
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number
}

export interface Progress {
  readonly report: (progress: RebuildProgress) => void
  /** Removes the line, so results stand alone. */
  clear(): void
}

const barWidth = 24
const redrawMs = 100
const plainMs = 5_000
const clearLine = '\r\u001B[2K'

/** Shows the progress of a rebuild or a comparison: events, events per second, time left. */
export function createProgress({ write, isTerminal, now }: ProgressOutput): Progress {
  let shownAt = now()
  let hasLine = false
  let begun:
    | { readonly phase: string; readonly at: number; readonly fraction: number; readonly events: number }
    | undefined

  return {
    report(progress) {
      const at = now()
      const fraction = fractionOf(progress)
      if (begun?.phase !== progress.phase) begun = { phase: progress.phase, at, fraction, events: progress.events }
      if (at - shownAt < (isTerminal ? redrawMs : plainMs)) return
      shownAt = at
      const text = textOf(progress, fraction, {
        seconds: (at - begun.at) / 1_000,
        fraction: fraction - begun.fraction,
        events: progress.events - begun.events,
      })
      if (!isTerminal) return write(`${text}\n`)
      write(`${clearLine}${text}`)
      hasLine = true
    },
    clear() {
      if (hasLine) write(clearLine)
      hasLine = false
    },
  }
}

/** Fraction of the log, by bytes: the number of its events is not known in advance. */
function fractionOf({ position, target }: RebuildProgress): number {
  return target.commit === 0n ? 1 : Math.min(1, Number(position.commit) / Number(target.commit))
}

interface SinceBegun {
  readonly seconds: number
  readonly fraction: number
  readonly events: number
}

function textOf({ phase, projector, events }: RebuildProgress, fraction: number, since: SinceBegun): string {
  if (phase !== 'filling') return `${phase} ${projector ?? ''}`.trimEnd()
  const full = Math.round(fraction * barWidth)
  const bar = `[${'#'.repeat(full)}${'.'.repeat(barWidth - full)}]`
  const rate = since.seconds > 0 ? `, ${Math.round(since.events / since.seconds)}/s` : ''
  const left =
    since.fraction > 0 && fraction < 1
      ? `, ${durationText((since.seconds / since.fraction) * (1 - fraction))} left`
      : ''
  return `filling ${bar} ${String(Math.floor(fraction * 100)).padStart(3)} %  ${events} events${rate}${left}`
}

function durationText(seconds: number): string {
  const whole = Math.ceil(seconds)
  if (whole < 60) return `${whole} s`
  const minutes = Math.floor(whole / 60)
  return minutes < 60 ? `${minutes} min ${whole % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}
