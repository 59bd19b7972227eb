import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { freePort } from '../../embedded/children/free-port.ts'
import { createGracefulStop, type GracefulStop } from '../../platform/lifecycle/graceful-stop.ts'
import { createLogger } from '../../platform/observability/logging.ts'
import { up } from '../../app/up.ts'
import { freshDatabase } from '../support/postgres.ts'

const logger = createLogger({ level: 'silent' })

/** Whether something listens on the port now. The connection attempt starts before this returns. */
function isAnswering(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  return new Promise((resolve) => {
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
  }).then((answer) => {
    socket.destroy()
    return answer === true
  })
}

it('steps begin only after the services that they call answer', async () => {
  const [dataDir, port, database] = await Promise.all([
    mkdtemp(join(tmpdir(), 'start-order-')),
    freePort(),
    freshDatabase(),
  ])
  const graceful = createGracefulStop({ logger })
  const answers: [name: string, isAnswering: Promise<boolean>][] = []
  // Each part registers its own end as soon as it begins.
  const stop: GracefulStop = {
    ...graceful,
    get isStopping() {
      return graceful.isStopping
    },
    onStop(stage, name, close) {
      if (name === 'workers') answers.push([name, isAnswering(port)])
      graceful.onStop(stage, name, close)
    },
  }
  try {
    const env = {
      PLATFORM_DATA_DIR: dataDir,
      PORT: String(port),
      DATABASE_URL: database.url,
      VAULT_DATABASE_URL: database.vaultUrl,
    }
    await up({ env, logger, stop, onFatal: () => undefined })
    expect(await Promise.all(answers.map(async ([name, answer]) => [name, await answer]))).toEqual([['workers', true]])
  } finally {
    const code = await graceful.stop()
    await database.drop()
    await rm(dataDir, { recursive: true, force: true })
    expect(code).toBe(0)
  }
})
