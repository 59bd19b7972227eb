import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs'
import { readFile } from 'node:fs/promises'

export const operations = [
  'patient',
  'consent',
  'assessment',
  'submit',
  'cancel',
  'supersede',
  'subscription',
  'readdress',
  'disable',
  'enable',
  'unsubscribe',
  'redeliver',
  'user',
  'promote',
  'suspend',
  'deactivate',
  'reactivate',
  'leave',
  'join',
  'template',
  'rule',
  'unrule',
  'notify',
  'publish',
  'case',
  'close',
  'image',
  'receive',
  'start',
  'advance',
  'abandon',
  'claim',
  'release',
  'decide',
  'erase',
] as const
export type Operation = (typeof operations)[number]

/** An answer that accepted a write. */
export interface Acknowledged {
  readonly operation: Operation
  readonly key: string
  readonly status: number
  /** Id of the created or changed record. For a moved subscription, its new URL. */
  readonly id: string
  /** X-Commit-Position. Null when the answer has none. */
  readonly position: string | null
  /** When the answer arrived, in milliseconds since 1970. */
  readonly at: number
}

/** An answer that showed something personal. */
export interface Seen {
  readonly operation: string
  readonly patientId: string
  readonly purpose: string
  /** X-Request-Id. */
  readonly requestId: string | null
  /** When the answer arrived, in milliseconds since 1970. */
  readonly at: number
}

/** Totals over all requests. */
export interface LoadSummary {
  /** Requests sent, including repeats. */
  readonly sent: number
  /** Requests repeated under the same key after no answer or a 502, 503 or 504. */
  readonly repeated: number
  /** Number of keys without a final answer, by operation. */
  readonly unanswered: Readonly<Record<Operation, number>>
  /** Answers by status, with the problem code if there is one: `409 conflict`. */
  readonly answers: Readonly<Record<string, number>>
}

/** The totals of two clients. */
export function addedUp(one: LoadSummary, other: LoadSummary): LoadSummary {
  const sum = <Name extends string>(a: Readonly<Record<Name, number>>, b: Readonly<Partial<Record<Name, number>>>) => {
    const names = new Set([...Object.keys(a), ...Object.keys(b)]) as Set<Name>
    return Object.fromEntries([...names].map((name) => [name, (a[name] ?? 0) + (b[name] ?? 0)])) as Record<Name, number>
  }
  return {
    sent: one.sent + other.sent,
    repeated: one.repeated + other.repeated,
    unanswered: sum(one.unanswered, other.unanswered),
    answers: sum(one.answers, other.answers),
  }
}

/** A file of lines. Each line is on disk before the next step. */
export class DurableLines {
  readonly #file: number

  constructor(path: string) {
    this.#file = openSync(path, 'a', 0o600)
  }

  write(line: object): void {
    writeSync(this.#file, `${JSON.stringify(line)}\n`)
    fsyncSync(this.#file)
  }

  close(): void {
    closeSync(this.#file)
  }
}

/** The lines of such a file as they were written. Empty when the file has none. */
export async function readLines<Line>(path: string): Promise<readonly Line[]> {
  const whole = await readFile(path, 'utf8').catch(() => '')
  return whole
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line)
}
