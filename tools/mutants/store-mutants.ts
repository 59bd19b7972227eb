import type { Mutant } from './mutant.ts'

const eventStore = 'test/streams/store/event-store.int.test.ts'
const appendHazards = 'test/streams/store/append-hazards.int.test.ts'
const unreadAppends = 'test/streams/store/unread-appends.int.test.ts'
const execute = 'test/commands/handling/execute.int.test.ts'
const tornTail = 'test/embedded/eventstore/files/torn-tail.int.test.ts'

export const storeMutants: readonly Mutant[] = [
  {
    name: 'append-anywhere',
    fault: 'an append does not contain the revision on which it was decided',
    file: 'streams/store/appending.ts',
    text: 'expected: append.expected,',
    replacement: `expected: 'any',`,
    caughtBy: [
      { file: appendHazards, test: 'every append contains an exact revision' },
      { file: eventStore, test: 'exactly one of fifty parallel appends to one new stream succeeds' },
    ],
  },
  {
    name: 'node-revision-unchecked',
    fault: 'the node accepts an append that was decided on the revision before the last',
    file: 'embedded/eventstore/streams/append-check.ts',
    text: 'if (expectedHead === head) return {',
    replacement: 'if (expectedHead === head || expectedHead === head - 1) return {',
    caughtBy: [{ file: eventStore, test: 'exactly one of fifty parallel appends to one new stream succeeds' }],
  },
  {
    name: 'event-id-not-derived',
    fault: 'a repeated command has other event ids',
    file: 'streams/store/events.ts',
    text: 'v5(String(index), commandId)',
    replacement: 'v5(`${index} ${performance.now()}`, commandId)',
    caughtBy: [{ file: eventStore, test: 'the same command appended again is one append' }],
  },
  {
    name: 'cache-goes-back',
    fault: 'an older state replaces a newer one in the cache',
    file: 'streams/store/state-cache.ts',
    text: 'present.revision > revision) return',
    replacement: 'present.revision < 0n) return',
    caughtBy: [
      { file: 'test/streams/store/state-cache.unit.test.ts', test: 'keeps the newest state, whichever is stored last' },
    ],
  },
  {
    name: 'cache-of-another-revision',
    fault: 'an append is folded onto a cached state on which it was not decided',
    file: 'streams/store/event-store.ts',
    text: 'return cached.revision === expected ? { value: cached.state } : undefined',
    replacement: 'return { value: cached.state }',
    caughtBy: [{ file: eventStore, test: 'an append on newer events than the cached ones does not damage the cache' }],
  },
  {
    name: 'answer-before-sync',
    fault: 'the node answers an append that is not on disk',
    file: 'embedded/eventstore/log/event-log.ts',
    text: '    fdatasync(group.segment.fd, (error) => {',
    replacement: '    setImmediate((error: Error | null = null) => {',
    caughtBy: [
      {
        file: 'test/embedded/eventstore/files/group-commit.int.test.ts',
        test: 'an append is answered only after its group is synced',
      },
    ],
  },
  {
    name: 'recovery-cuts-acknowledged',
    fault: 'a start cuts off appends that were acknowledged',
    file: 'embedded/eventstore/log/recovery.ts',
    text: '  if (position < acknowledged) throw',
    replacement: '  if (position < 0) throw',
    caughtBy: [{ file: tornTail, test: 'a cut before the last acknowledged append stops the start' }],
  },
  {
    name: 'recovery-trusts-tail',
    fault: 'a start accepts a torn append as a complete one',
    file: 'embedded/eventstore/log/recovery.ts',
    text: 'crc) !== stored) return { end: position + at, crc }',
    replacement: 'crc) === -1) return { end: position + at, crc }',
    caughtBy: [{ file: tornTail, test: 'the same with zeros or garbage in place of the tail' }],
  },
  {
    name: 'key-for-any-request',
    fault: 'an Idempotency-Key returns the answer of another request',
    file: 'commands/handling/once-by-key.ts',
    text: `if (reserved.kind === 'held' || reserved.fingerprint !== keyed.fingerprint) throw`,
    replacement: `if (reserved.kind === 'held') throw`,
    caughtBy: [
      { file: execute, test: 'is claimed by the first request, answers its repeat, and refuses another request' },
    ],
  },
  {
    name: 'key-given-back-by-repeat',
    fault: 'a refused repeat releases the key of the request before it',
    file: 'commands/handling/once-by-key.ts',
    text: 'if (reserved.isNew && error instanceof Problem)',
    replacement: 'if (error instanceof Problem)',
    caughtBy: [
      { file: execute, test: 'is not released by a refused repeat while the outcome of the first request is unknown' },
    ],
  },
  {
    name: 'refused-on-stale-state',
    fault: 'a command is refused because of stale cached state',
    file: 'commands/handling/execute.ts',
    text: 'if (!isFresh && (isRefusal(decision) || decision.length === 0)) {',
    replacement: 'if (!isFresh && !isRefusal(decision) && decision.length === 0) {',
    caughtBy: [{ file: execute, test: 'decides a refusal again after reading the tail' }],
  },
  {
    name: 'append-to-nobody',
    fault: 'every retry of every append stays in memory for a server that does not read',
    file: 'streams/store/append-calls.ts',
    text: 'if (call.writableNeedDrain) underWay',
    replacement: 'if (call.destroyed) underWay',
    caughtBy: [{ file: unreadAppends, test: 'are written up to a limit, however often they are tried' }],
  },
  {
    name: 'ended-call-stays',
    fault: 'appends continue on a call that its server ended during a write',
    file: 'streams/store/append-calls.ts',
    text: '      else call.destroy()\n',
    replacement: '',
    caughtBy: [{ file: unreadAppends, test: 'end with their call' }],
  },
]
