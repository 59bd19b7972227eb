import type { Mutant } from './mutant.ts'

const takeover = 'test/engine/projections/takeover.int.test.ts'
const joinedWrites = 'test/engine/projections/joined-writes.int.test.ts'
const feed = 'test/engine/projections/feed.unit.test.ts'
const readPositions = 'test/engine/projections/read-positions.int.test.ts'

export const projectionMutants: readonly Mutant[] = [
  {
    name: 'plans-of-empty-tables',
    fault: 'a batch that was planned on empty tables reads them completely after they have grown',
    file: 'engine/projections/batch-writer.ts',
    at: 'createWritePool / createPool() / .arguments.0',
    becomes: "{ ...$self, settings: { plan_cache_mode: 'force_generic_plan' } }",
    caughtBy: {
      'test/engine/projections/write-plans.int.test.ts': 'plans for empty tables scan no table once it has grown',
    },
  },
  {
    name: 'projectors-in-any-order',
    fault: 'two batches that change several projectors lock them in the order of their plans',
    file: 'engine/projections/checkpoints.ts',
    at: "heldByName / 'order by name for no key update'",
    becomes: '',
    caughtBy: { 'test/engine/projections/lock-order.int.test.ts': 'holds no lock of a later name: ' },
  },
  {
    name: 'checkpoint-unguarded',
    fault: 'a checkpoint moves from any position',
    file: 'engine/projections/checkpoint-moves.ts',
    at: "checkpointsMove / 'and p.commit_position = x.from_commit and p.prepare_position = x.from_prepare'",
    becomes: '',
    caughtBy: { [takeover]: 'moves only from where its writer left it' },
  },
  {
    name: 'checkpoint-half',
    fault: 'only half of a position guards a checkpoint',
    file: 'engine/projections/checkpoint-moves.ts',
    at: "checkpointsMove / 'and p.prepare_position = x.from_prepare'",
    becomes: '',
    caughtBy: { 'test/engine/projections/checkpoint-guard.int.test.ts': 'compares both numbers of a position' },
  },
  {
    name: 'checkpoint-version',
    fault: 'an older version of the program moves the checkpoint of a newer one',
    file: 'engine/projections/checkpoint-moves.ts',
    at: "checkpointsMove / 'and p.version = x.version'",
    becomes: '',
    caughtBy: { [takeover]: 'moves only from where its writer left it' },
  },
  {
    name: 'joined-into-old-copy',
    fault: 'a batch that waited for a switch writes to the tables from before it',
    file: 'engine/projections/checkpoint-moves.ts',
    at: 'checkpointsMove / ?',
    becomes: '$alternate',
    caughtBy: { [joinedWrites]: 'goes to that copy, and so does the next one' },
  },
  {
    name: 'copy-comes-back',
    fault: 'a rollback brings a copy back under the id that a writer used before the switch',
    file: 'engine/rebuild/switch.ts',
    at: "switchIn / '(name, version, shape, commit_position, prepare_position, status, updated_at) select $2, version, shape,'",
    becomes:
      '(name, version, shape, copy_id, commit_position, prepare_position, status, updated_at) select $2, version, shape, copy_id,',
    caughtBy: { 'test/engine/rebuild/rollback.int.test.ts': 'reverses the rollback before it' },
  },
  {
    name: 'switch-waits-locked',
    fault: 'a switch waits under its lock for a read that ignores its signal, and every read model stops',
    file: 'engine/rebuild/gap.ts',
    at: 'gapUpTo / limited()',
    becomes: '$arguments.1',
    caughtBy: {
      'test/engine/rebuild/switch.int.test.ts':
        'releases its lock if the event store does not answer under it, and succeeds at a later attempt',
    },
  },
  {
    name: 'joined-past-lost',
    fault: 'a joined batch succeeds for projectors with the expected checkpoint, and is reported for all',
    file: 'engine/projections/joined-writes.ts',
    at: "writeJoined / 'exists (select from passed)'",
    becomes: 'true',
    caughtBy: { [joinedWrites]: 'a checkpoint that another instance has moved, next to one that it has not' },
  },
  {
    name: 'joined-reads-old-rows',
    fault: 'a change that reads a table is joined with one that writes it, and reads the rows from before',
    file: 'engine/projections/statements-at-once.ts',
    at: 'mayRunAtOnce / !',
    becomes: 'true',
    caughtBy: { [joinedWrites]: 'reads what it has written' },
  },
  {
    name: 'joined-in-any-order',
    fault: 'a batch that removes the row of another change of the batch is written as one statement',
    file: 'engine/projections/statements-at-once.ts',
    at: 'mayRunAtOnce / commute()',
    becomes: 'true',
    caughtBy: {
      'test/engine/projections/statements-at-once.int.test.ts':
        'batches give the same rows and refusals as one statement',
    },
  },
  {
    name: 'joined-uncounted',
    fault: 'a joined patch of a missing row is accepted',
    file: 'engine/projections/joined-writes.ts',
    at: 'writeJoined / !==',
    becomes: '$left === 0',
    caughtBy: { [joinedWrites]: 'give the same rows, the same reported tables and the same refusals' },
  },
  {
    name: 'lost-commit-foreign',
    fault: 'a lost answer of a commit is taken as a commit of another instance',
    file: 'engine/projections/retrying-writer.ts',
    at: 'RetryingWriter / #attempt / = 2',
    becomes: 'undefined',
    caughtBy: {
      'test/engine/projections/retrying-writer.int.test.ts': 'recognises its own commit if the answer was lost',
    },
  },
  {
    name: 'slow-batch-for-ever',
    fault: 'a batch that takes longer than a statement may is tried for ever, and holds up all projectors',
    file: 'engine/projections/retrying-writer.ts',
    at: 'RetryingWriter / #attempt / >=',
    becomes: 'false',
    caughtBy: {
      'test/engine/projections/retrying-writer.int.test.ts':
        'writes a batch event by event if it takes longer than a statement may',
    },
  },
  {
    name: 'position-half',
    fault: 'two events of one append have the same position',
    file: 'platform/kit/positions.ts',
    at: 'comparePositions / if 2',
    becomes: '',
    caughtBy: { 'test/platform/kit/positions.unit.test.ts': 'are compared by both numbers' },
  },
  {
    name: 'older-patch-wins',
    fault: 'of two patches of a row in one batch, the first one stays',
    file: 'engine/projections/row-plan.ts',
    at: 'patchedRow / values 2 / .value',
    becomes: '{ $properties.1, $properties.0 }',
    caughtBy: { 'test/engine/projections/later-changes.unit.test.ts': 'the last change of a column in a batch wins' },
  },
  {
    name: 'insert-ahead-of-removal',
    fault: 'a new row is written before the same event has removed the existing one',
    file: 'engine/projections/row-plan.ts',
    at: 'RowPlan / #add / ||',
    becomes: 'true',
    caughtBy: {
      'test/engine/projections/folded-removals.int.test.ts': 'a row that the same event removed by its values',
    },
  },
  {
    name: 'conditions-out-of-order',
    fault: 'changes that read rows are joined across changes of the rows that they read',
    file: 'engine/projections/row-plan.ts',
    at: 'RowPlan / #addWhere / every()',
    becomes: 'true',
    caughtBy: {
      'test/engine/projections/row-plan.unit.test.ts':
        'puts a change that reads a table between the changes of that table',
    },
  },
  {
    name: 'joined-ahead',
    fault: 'two readings merge into the one ahead, so the others miss the events between',
    file: 'engine/projections/log-readings.ts',
    at: 'LogReadings / #united / ?',
    becomes: '$test ? $alternate : $consequent',
    caughtBy: { [feed]: 'merge into the one behind' },
  },
  {
    name: 'event-twice',
    fault: 'a projector that is ahead of its reading takes events again',
    file: 'engine/projections/feed.ts',
    at: 'batchOf / <=',
    becomes: 'false',
    caughtBy: { [feed]: 'starts at the member that is furthest behind' },
  },
  {
    name: 'unknown-type-passed',
    fault: 'a read model counts as current although it stands before an event that only a newer program can read',
    file: 'engine/store/event-store.ts',
    at: 'EventStore / head / ||',
    becomes: '$left',
    caughtBy: {
      [readPositions]: 'is not passed before an event of an unknown type',
      'test/engine/store/event-store.int.test.ts': 'the head of wanted types',
    },
  },
  {
    name: 'stale-consent',
    fault: 'a decision uses a read model that may not have the newest event',
    file: 'engine/projections/read-positions.ts',
    at: 'ReadPositions / requireHead / for / .test',
    becomes: 'false',
    caughtBy: { [readPositions]: 'is never passed by a projector that is stopped before it' },
  },
]
