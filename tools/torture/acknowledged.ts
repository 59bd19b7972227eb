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
] as const
export type Operation = (typeof operations)[number]

/** One answer with which the platform took a write. */
export interface Acknowledged {
  readonly operation: Operation
  readonly key: string
  readonly status: number
  /** Of what the write made or changed; the address that a subscription moved to. */
  readonly id: string
  /** X-Commit-Position; null where the answer has none. */
  readonly position: string | null
}

/** What became of the requests in all. */
export interface LoadSummary {
  /** Requests sent, repeats included. */
  readonly sent: number
  /** Sent again under the same key because there was no answer, or one of 502, 503 or 504. */
  readonly repeated: number
  /** Keys that never got an answer that settles them, by operation. */
  readonly unsettled: Readonly<Record<Operation, number>>
  /** Answers by status, with the code of the problem where it is one: `409 conflict`. */
  readonly answers: Readonly<Record<string, number>>
}

/** A file of lines, each on the disk before the next thing happens. */
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

/** The lines of such a file, as they were written; none when nothing was. */
export async function readLines<Line>(path: string): Promise<readonly Line[]> {
  const whole = await readFile(path, 'utf8').catch(() => '')
  return whole
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line)
}
