import type { Pool } from 'pg'
import { requestResume } from '../../../projections/runtime/checkpoints.ts'
import { pause } from '../../../streams/store/backoff.ts'
import { readProjector, type ShownProjector } from './stored-projectors.ts'

/** An instance looks for resumed projectors every second; one that is not back by then has something to catch up. */
const patienceMs = 10_000
const pollMs = 200

export interface Told {
  readonly text: string
  readonly isDone: boolean
}

/** Lets a failed or stopped projector try the event after its checkpoint again, and tells what becomes of it. */
export async function retryProjector(pool: Pool, name: string): Promise<Told> {
  const before = await readProjector(pool, name)
  if (before.status === 'unseen') return { text: `${name} has never run: there is nothing to retry`, isDone: false }
  if (!(await requestResume(pool, name))) return { text: `${name} is ${(await readProjector(pool, name)).status}: there is nothing to retry`, isDone: true }
  return outcomeOf(await settled(pool, name))
}

async function settled(pool: Pool, name: string): Promise<ShownProjector> {
  const deadline = performance.now() + patienceMs
  for (;;) {
    const projector = await readProjector(pool, name)
    if (projector.status !== 'catching-up' || performance.now() > deadline) return projector
    await pause(pollMs)
  }
}

function outcomeOf({ name, status, position, failure }: ShownProjector): Told {
  switch (status) {
    case 'running': return { text: `${name} goes on and is at the head, at ${position}`, isDone: true }
    case 'failed': return { text: `${name} failed again at ${failure?.position}: ${failure?.eventType} ${failure?.eventId}\n  ${failure?.reason}`, isDone: false }
    case 'catching-up': return { text: `${name} goes on from ${position} as soon as an instance runs it: projections lag shows how far it is`, isDone: true }
    case 'stopped':
    case 'unseen': return { text: `${name} was stopped meanwhile`, isDone: false }
  }
}
