import { expect, test } from 'vitest'
import { hostedEventStore } from 'embedded-eventstore/testing'
import { PretendedCluster } from '../../../tools/torture/stage/pretended-cluster.ts'
import { startInProcessPlatform } from '../../support/in-process-platform.ts'

test('a platform whose event store has lost its leader stops cleanly', async () => {
  const store = await hostedEventStore()
  const cluster = await PretendedCluster.start(Number(new URL(store.url).port))
  const given = await startInProcessPlatform({ ESDB_URL: cluster.url })
  cluster.begin({ kind: 'quorum', isRefusing: true, isLate: false, next: 0 })
  // Its subscriptions end too, and find no node.
  cluster.begin({ kind: 'unconfirmed' })
  const ready = () => fetch(`${given.platform.credentials.base_url}/health/ready`)
  await expect.poll(async () => (await ready()).status, { timeout: 30_000 }).toBe(503)
  // Expects the exit code 0.
  await given.close()
  await cluster.close()
  await store.stop()
})
