import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { ProblemCode } from '../../../platform/http/problems.ts'
import type { DecisionWorld } from '../../engine/commands/decision-world.ts'
import type { RacingCommand } from './racing-commands.ts'

export interface Racer {
  /** The problem that the other process got; null for none. */
  run(command: RacingCommand): Promise<ProblemCode | null>
  close(): Promise<void>
}

interface Done {
  readonly id: number
  readonly problem?: ProblemCode | null
  readonly failed?: string
}

/** Starts another process with connections and caches of its own. */
export async function startRacer({ url, vaultUrl, masterKeys, now }: DecisionWorld): Promise<Racer> {
  const child = fork(fileURLToPath(new URL('racer-main.ts', import.meta.url)), [url, vaultUrl, masterKeys], {
    execArgv: [],
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const exited = once(child, 'exit')
  const waiting = new Map<number, PromiseWithResolvers<ProblemCode | null>>()
  let ids = 0
  const started = await Promise.race([once(child, 'message'), exited])
  if (started[0] !== 'ready') throw new Error('the other process did not start')
  child.on('message', ({ id, problem = null, failed }: Done) => {
    const answer = waiting.get(id)
    waiting.delete(id)
    if (failed === undefined) answer?.resolve(problem)
    else answer?.reject(new Error(failed))
  })
  child.once('exit', () => {
    for (const { reject } of waiting.values()) reject(new Error('the other process ended'))
  })
  return {
    run(command) {
      const answer = Promise.withResolvers<ProblemCode | null>()
      waiting.set((ids += 1), answer)
      child.send({ id: ids, command, now: now() })
      return answer.promise
    },
    async close() {
      if (child.connected) child.disconnect()
      await exited
    },
  }
}
