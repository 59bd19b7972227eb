import { describe, expect, test } from 'vitest'
import { hostedEventStore } from 'embedded-eventstore/testing'
import { EventStoreUnavailableError } from '../../../engine/store/errors.ts'
import { PretendedCluster, type ClusterFault } from '../../../tools/torture/stage/pretended-cluster.ts'
import { newContext, noted, openTestStore, until, visitCategory } from '../../engine/store/fixtures.ts'

const { catalogue, fold, stream } = visitCategory()

/** Two nodes, a store on them with short time limits, and a subscription to one stream. */
async function onTwoNodes() {
  const node = await hostedEventStore()
  const cluster = await PretendedCluster.start(Number(new URL(node.url).port))
  const store = await openTestStore({ catalogue, url: cluster.url, appendTimeoutMs: 300, appendBudgetMs: 60_000 })
  const target = { fold, stream: stream() }
  const seen: bigint[] = []
  store.subscribeToStream({
    name: 'following',
    stream: target.stream,
    fromRevision: 'start',
    onEvent: ({ revision }) => void seen.push(revision),
    signal: new AbortController().signal,
  })
  const append = async (number: number) => {
    const expected = number === 0 ? 'no_stream' : BigInt(number - 1)
    return (await store.append(target, expected, [noted(number)], newContext())).revision
  }
  expect(await append(0)).toBe(0n)
  await until(() => seen.length === 1)
  return {
    cluster,
    store,
    target,
    seen,
    append,
    async [Symbol.asyncDispose]() {
      await store.close()
      await cluster.close()
      await node.stop()
    },
  }
}

const hangs: readonly ClusterFault[] = [
  { kind: 'hang', isTaken: true, isLate: false },
  { kind: 'hang', isTaken: false, isLate: true },
]

describe('two pretended nodes', () => {
  test.each(hangs)('hang: %o: the append takes effect once, at the other node', async (fault) => {
    await using on = await onTwoNodes()
    const end = on.cluster.begin(fault)
    expect(await on.append(1)).toBe(1n)
    end()
    expect(await on.append(2)).toBe(2n)
    await until(() => on.seen.length === 3)
    expect(on.seen).toEqual([0n, 1n, 2n])
  })

  test.each([true, false])('lose their quorum, refusing: %o: appends wait for the return', async (isRefusing) => {
    await using on = await onTwoNodes()
    const end = on.cluster.begin({ kind: 'quorum', isRefusing, isLate: false, next: 1 })
    const impatient = on.store.within({ appendTimeoutMs: 200, appendBudgetMs: 200, readBudgetMs: 200 })
    await expect(impatient.load({ ...on.target, stream: stream() })).rejects.toThrow(EventStoreUnavailableError)
    const appending = on.append(1)
    end()
    expect(await appending).toBe(1n)
    await until(() => on.seen.length === 2)
  })

  test('drop the bytes of open connections: the append goes over a new one', async () => {
    await using on = await onTwoNodes()
    const end = on.cluster.begin({ kind: 'silence' })
    expect(await on.append(1)).toBe(1n)
    end()
    await until(() => on.seen.length === 2)
    expect(on.seen).toEqual([0n, 1n])
  })
})
