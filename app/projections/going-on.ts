import type { Pool } from 'pg'
import { requestResume, type Resumed } from '../../engine/rebuild/resume.ts'
import { pause } from '../../platform/kit/backoff.ts'
import { noRoomText } from './list.ts'
import { readProjector, type ShownCopy, type ShownFailure, type ShownProjector } from './known-projectors.ts'

/**
 * Instances look for resumed projectors every second. A projector that is not back after this time is still catching
 * up.
 */
const patienceMs = 10_000
const pollMs = 200

export interface CommandReport {
  readonly text: string
  readonly isDone: boolean
}

/** Lets a failed or stopped projector try the event after its checkpoint again, and reports the result. */
export async function retryProjector(pool: Pool, name: string): Promise<CommandReport> {
  const before = await readProjector(pool, name)
  if (before.status === 'unseen') return { text: `${name} has never run: there is nothing to retry`, isDone: false }
  const resumed = await requestResume(pool, name)
  if (resumed === undefined)
    return { text: `${name} is ${(await readProjector(pool, name)).status}: there is nothing to retry`, isDone: true }
  return becomeOf(pool, name, resumed)
}

/** The result for a resumed projector, as far as it is visible within a few seconds. */
export async function becomeOf(pool: Pool, name: string, { isServing, nextVersion }: Resumed): Promise<CommandReport> {
  const reports: CommandReport[] = []
  if (isServing) reports.push(outcomeOf(await shownOnce(pool, name, ({ status }) => status !== 'catching-up')))
  if (nextVersion !== undefined)
    reports.push(
      outcomeOfNext(
        await shownOnce(pool, name, (shown) => shown.version === nextVersion || nextCopy(shown)?.isFailed === true),
        nextVersion,
      ),
    )
  return { text: reports.map(({ text }) => text).join('\n'), isDone: reports.every(({ isDone }) => isDone) }
}

async function shownOnce(
  pool: Pool,
  name: string,
  isThere: (shown: ShownProjector) => boolean,
): Promise<ShownProjector> {
  const deadline = performance.now() + patienceMs
  for (;;) {
    const projector = await readProjector(pool, name)
    if (isThere(projector) || performance.now() > deadline) return projector
    await pause(pollMs)
  }
}

function nextCopy({ copies }: ShownProjector): ShownCopy | undefined {
  return copies.find(({ kind }) => kind === 'next')
}

function outcomeOfNext(shown: ShownProjector, version: number): CommandReport {
  const { name } = shown
  const copy = nextCopy(shown)
  if (copy?.isFailed === true) {
    const { failure } = copy
    return {
      text:
        failure === undefined
          ? noRoomText(name, version)
          : failedAgainText(`the copy of ${name} in version ${version}`, failure),
      isDone: false,
    }
  }
  if (shown.version === version) return { text: `${name} is served in version ${version}`, isDone: true }
  return {
    text: `the copy of ${name} in version ${version} is filled again as soon as an instance of that version runs it: projections list shows how far it is`,
    isDone: true,
  }
}

function failedAgainText(what: string, failure: ShownFailure | undefined): string {
  return `${what} failed again at ${failure?.position}: ${failure?.eventType} ${failure?.eventId}\n  ${failure?.reason}`
}

function outcomeOf({ name, status, position, failure }: ShownProjector): CommandReport {
  switch (status) {
    case 'running':
      return { text: `${name} continues and is at the head, at ${position}`, isDone: true }
    case 'failed':
      return { text: failedAgainText(name, failure), isDone: false }
    case 'catching-up':
      return {
        text: `${name} continues from ${position} as soon as an instance runs it: projections lag shows how far it is`,
        isDone: true,
      }
    case 'stopped':
    case 'unseen':
      return { text: `${name} was stopped meanwhile`, isDone: false }
  }
}
