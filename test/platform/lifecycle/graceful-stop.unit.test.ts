import { describe, expect, it } from 'vitest'
import { createGracefulStop } from '../../../platform/lifecycle/graceful-stop.ts'
import { createLogger } from '../../../platform/observability/logging.ts'

const logger = createLogger({ level: 'silent' })

describe('a stop', () => {
  it('ends reactions, intake, work, resources, servers in this order; the last of a stage first, each awaited', async () => {
    const graceful = createGracefulStop({ logger })
    const log: string[] = []
    const closer = (name: string) => async () => {
      log.push(`${name} begins`)
      await Promise.resolve()
      log.push(`${name} ends`)
    }
    graceful.onStop('servers', 'postgres', closer('postgres'))
    graceful.onStop('resources', 'pool', closer('pool'))
    graceful.onStop('work', 'relay', closer('relay'))
    graceful.onStop('work', 'projections', closer('projections'))
    graceful.onStop('intake', 'http', closer('http'))
    graceful.onStop('reactions', 'workers', closer('workers'))
    expect(await graceful.stop()).toBe(0)
    expect(log).toEqual(
      ['workers', 'http', 'projections', 'relay', 'pool', 'postgres'].flatMap((name) => [
        `${name} begins`,
        `${name} ends`,
      ]),
    )
  })

  it('happens once, whoever calls it, and reports its begin at once', async () => {
    const graceful = createGracefulStop({ logger })
    let closed = 0
    graceful.onStop('work', 'x', () => {
      closed += 1
    })
    expect([graceful.isStopping, graceful.signal.aborted]).toEqual([false, false])
    const both = [graceful.stop({ code: 1 }), graceful.stop()]
    expect([graceful.isStopping, graceful.signal.aborted]).toEqual([true, true])
    expect(await Promise.all(both)).toEqual([1, 1])
    expect(closed).toBe(1)
  })

  it('closes the rest if one fails or hangs, and returns exit code 1', async () => {
    const graceful = createGracefulStop({ logger, limitMs: 50 })
    let isClosed = false
    graceful.onStop('work', 'failing', () => {
      throw new Error('x')
    })
    graceful.onStop('work', 'hanging', () => new Promise(() => undefined))
    graceful.onStop('resources', 'pool', () => {
      isClosed = true
    })
    expect([await graceful.stop(), isClosed]).toEqual([1, true])
  })

  it('closes the rest after a standstill of the process in which both time limits ended', async () => {
    const graceful = createGracefulStop({ logger, limitMs: 50 })
    let isClosed = false
    graceful.onStop('work', 'hanging', () => {
      setImmediate(() => {
        const end = performance.now() + 60
        while (performance.now() < end);
      })
      return new Promise(() => undefined)
    })
    graceful.onStop('resources', 'pool', () => {
      isClosed = true
    })
    expect([await graceful.stop(), isClosed]).toEqual([1, true])
  })

  it('ends at its time limit', async () => {
    const graceful = createGracefulStop({ logger, limitMs: 20 })
    for (const stage of ['reactions', 'intake', 'work', 'resources', 'servers'] as const)
      graceful.onStop(stage, stage, () => new Promise(() => undefined))
    expect(await graceful.stop()).toBe(1)
  })
})

it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  '%s stops and exits; later signals change nothing',
  async (signal) => {
    const graceful = createGracefulStop({ logger })
    const codes: number[] = []
    const done = Promise.withResolvers<void>()
    const unlisten = graceful.listen((code) => {
      codes.push(code)
      done.resolve()
    })
    try {
      graceful.onStop('work', 'x', () => undefined)
      expect(process.emit(signal)).toBe(true)
      expect([graceful.isStopping, process.emit('SIGINT'), process.emit('SIGTERM')]).toEqual([true, true, true])
      await done.promise
      expect(codes).toEqual([0])
    } finally {
      unlisten()
    }
  },
)
