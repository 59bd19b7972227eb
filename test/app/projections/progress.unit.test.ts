import { expect, test } from 'vitest'
import { createProgress } from '../../../app/projections/progress.ts'

/** The progress output of a fill towards commit position 1,000, at the given seconds. */
function shown(
  isTerminal: boolean,
  reports: readonly {
    readonly at: number
    readonly commit: number
    readonly events: number
    readonly phase?: 'filling' | 'comparing'
  }[],
): string[] {
  let seconds = 0
  const written: string[] = []
  const progress = createProgress({ write: (text) => written.push(text), isTerminal, now: () => seconds * 1_000 })
  for (const { at, commit, events, phase = 'filling' } of reports) {
    seconds = at
    const position = { commit: BigInt(commit), prepare: BigInt(commit) }
    progress.report({ phase, projector: 'patients', events, position, target: { commit: 1_000n, prepare: 1_000n } })
  }
  progress.clear()
  return written
}

test('on a terminal one line is drawn again: events done, rate, time left; it is gone in the end', () => {
  expect(
    shown(true, [
      { at: 0, commit: 0, events: 0 },
      { at: 2, commit: 250, events: 5_000 },
      { at: 2.05, commit: 260, events: 5_200 },
      { at: 4, commit: 500, events: 10_000 },
    ]),
  ).toEqual([
    '\r\u001B[2Kfilling [######..................]  25 %  5000 events, 2500/s, 6 s left',
    '\r\u001B[2Kfilling [############............]  50 %  10000 events, 2500/s, 4 s left',
    '\r\u001B[2K',
  ])
})

test('without a terminal it prints a plain line every five seconds and removes nothing', () => {
  expect(
    shown(false, [
      { at: 1, commit: 0, events: 0 },
      { at: 4.9, commit: 100, events: 400 },
      { at: 6, commit: 250, events: 5_000 },
      { at: 10, commit: 500, events: 9_000 },
      { at: 12, commit: 1_000, events: 11_000, phase: 'comparing' },
    ]),
  ).toEqual(['filling [######..................]  25 %  5000 events, 1000/s, 15 s left\n', 'comparing patients\n'])
})

test('events that an interrupted rebuild had filled count neither for the rate nor for the time left', () => {
  expect(
    shown(true, [
      { at: 0, commit: 800, events: 0 },
      { at: 10, commit: 900, events: 100 },
    ]),
  ).toEqual(['\r\u001B[2Kfilling [######################..]  90 %  100 events, 10/s, 10 s left', '\r\u001B[2K'])
})

test('shows hours for a long rest, and reads an empty log at once', () => {
  expect(
    shown(true, [
      { at: 0, commit: 0, events: 0 },
      { at: 100, commit: 10, events: 100 },
    ])[0],
  ).toContain('2 h 45 min left')
  let written = ''
  const begin = { commit: 0n, prepare: 0n }
  let now = 0
  const progress = createProgress({ write: (text) => (written += text), isTerminal: true, now: () => now })
  now = 1_000
  progress.report({ phase: 'filling', events: 0, position: begin, target: begin })
  expect(written).toContain('100 %  0 events')
})
