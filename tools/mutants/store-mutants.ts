import type { Mutant } from './mutant.ts'

const eventStore = 'test/engine/store/event-store.int.test.ts'
const tornTail = 'packages/embedded-eventstore/test/files/torn-tail.int.test.ts'
const execute = 'test/engine/commands/execute.int.test.ts'
const unreadAppends = 'test/engine/store/unread-appends.int.test.ts'
const nodeConnection = 'test/engine/store/node-connection.int.test.ts'

export const storeMutants: readonly Mutant[] = [
  {
    name: 'append-anywhere',
    fault: 'an append does not contain the revision on which it was decided',
    file: 'engine/store/appending.ts',
    at: 'attemptAppend / expected / .value',
    becomes: "'any'",
    caughtBy: {
      'test/engine/store/append-hazards.int.test.ts': 'every append contains an exact revision',
      [eventStore]: 'exactly one of fifty parallel appends to one new stream succeeds',
    },
  },
  {
    name: 'node-revision-unchecked',
    fault: 'the node accepts an append that was decided on the revision before the last',
    file: 'packages/embedded-eventstore/streams/append-check.ts',
    at: 'checkAppend / === 8',
    becomes: '$self || $left === $right - 1',
    caughtBy: { [eventStore]: 'exactly one of fifty parallel appends to one new stream succeeds' },
  },
  {
    name: 'event-id-not-derived',
    fault: 'a repeated command has other event ids',
    file: 'engine/store/events.ts',
    at: 'eventIdOf / hash() / .arguments.1',
    becomes: 'String(performance.now())',
    caughtBy: { [eventStore]: 'the same command appended again is one append' },
  },
  {
    name: 'cache-goes-back',
    fault: 'an older state replaces a newer one in the cache',
    file: 'engine/store/state-cache.ts',
    at: 'StateCache / advance / >=',
    becomes: 'false',
    caughtBy: { 'test/engine/store/state-cache.unit.test.ts': 'keeps the newest state, whichever is stored last' },
  },
  {
    name: 'cache-of-another-revision',
    fault: 'an append is folded onto a cached state on which it was not decided',
    file: 'engine/store/event-store.ts',
    at: 'EventStore / #stateAt / ? 1',
    becomes: '$consequent',
    caughtBy: { [eventStore]: 'an append on newer events than the cached ones does not damage the cache' },
  },
  {
    name: 'earlier-read-answers',
    fault: 'a read that began before a request answers the request',
    file: 'engine/store/shared-reads.ts',
    at: 'SharedReads / get / ?',
    becomes: '$test.left ?? $consequent',
    caughtBy: { 'test/engine/store/shared-reads.unit.test.ts': 'answer with what there was at the call, or later' },
  },
  {
    name: 'answer-before-sync',
    fault: 'the node answers an append that is not on disk',
    file: 'packages/embedded-eventstore/log/event-log.ts',
    at: 'EventLog / fdatasync()',
    becomes: 'setImmediate(() => ($arguments.1)(null))',
    caughtBy: {
      'packages/embedded-eventstore/test/files/group-commit.int.test.ts':
        'an append is answered only after its group is synced',
    },
  },
  {
    name: 'recovery-cuts-acknowledged',
    fault: 'a start cuts off appends that were acknowledged',
    file: 'packages/embedded-eventstore/log/recovery.ts',
    at: 'recoverLog / <',
    becomes: 'false',
    caughtBy: { [tornTail]: 'a cut before the last acknowledged append stops the start' },
  },
  {
    name: 'recovery-trusts-tail',
    fault: 'a start accepts a torn append as a complete one',
    file: 'packages/embedded-eventstore/log/recovery.ts',
    at: 'walkSegment / !==',
    becomes: 'false',
    caughtBy: { [tornTail]: 'the same with zeros or garbage in place of the tail' },
  },
  {
    name: 'key-for-any-request',
    fault: 'an Idempotency-Key returns the answer of another request',
    file: 'engine/commands/once-by-key.ts',
    at: 'onceByKey / ||',
    becomes: '$left',
    caughtBy: { [execute]: 'is claimed by the first request, answers its repeat, and refuses another request' },
  },
  {
    name: 'key-given-back-by-repeat',
    fault: 'a refused repeat releases the key of the request before it',
    file: 'engine/commands/once-by-key.ts',
    at: 'onceByKey / && 3',
    becomes: '$right',
    caughtBy: { [execute]: 'is not released by a refused repeat while the outcome of the first request is unknown' },
  },
  {
    name: 'refused-on-stale-state',
    fault: 'a command is refused because of stale cached state',
    file: 'engine/commands/execute.ts',
    at: 'eventsOf / ||',
    becomes: '$right',
    caughtBy: { [execute]: 'decides a refusal again after reading the tail' },
  },
  {
    name: 'append-to-nobody',
    fault: 'an append that nobody answers keeps its call and its connection',
    file: 'engine/store/append-calls.ts',
    at: 'AppendCalls / send / leaveNodeOf()',
    becomes: 'undefined',
    caughtBy: {
      [nodeConnection]: 'is left after one try: the repeat goes to the leader that gossip names, with the same ids',
    },
  },
  {
    name: 'ended-call-stays',
    fault: 'appends continue on a call that its server ended during a write',
    file: 'engine/store/append-calls.ts',
    at: 'AppendCalls / #begun / destroy()',
    becomes: 'undefined',
    caughtBy: { [unreadAppends]: 'end with their call' },
  },
]
