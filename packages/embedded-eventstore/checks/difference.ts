import type { Answer, Operation } from './operation.ts'

const LONGEST = 300

/** The first difference of two lists of texts, or undefined. */
export function firstDifference(expected: string[], found: string[]): string | undefined {
  for (let at = 0; at < Math.max(expected.length, found.length); at += 1) {
    if (expected[at] !== found[at])
      return `at ${at} of ${expected.length} and ${found.length}: expected ${shortened(expected[at])}, found ${shortened(found[at])}`
  }
  return undefined
}

/** A short text about an operation and its two answers. */
export function describeDifference(
  number: number,
  operation: Operation,
  expected: Answer,
  found: Answer,
  message = '',
): string {
  const asked = shortened(JSON.stringify(operation))
  if (expected.outcome === 'events' && found.outcome === 'events')
    return `operation ${number}, ${asked}: ${firstDifference(expected.events, found.events)}`
  return `operation ${number}, ${asked}: expected ${shortened(JSON.stringify(expected))}, found ${shortened(JSON.stringify(found))} ${message}`
}

function shortened(text: string | undefined): string {
  if (text === undefined) return 'nothing'
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text
}
