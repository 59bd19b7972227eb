import type { Mutant } from './mutant.ts'

const instances = 'test/commands/workflows/instances.unit.test.ts'
const conditions = 'test/commands/workflows/conditions.unit.test.ts'
const list = 'test/processes/workflows/workflows-list.unit.test.ts'
const crashPoints = 'test/processes/workflows/crash-points.int.test.ts'
const advanceInstance = 'commands/workflows/advance-instance.ts'
const stepsAhead = 'commands/workflows/steps-ahead.ts'
const endInstance = 'commands/workflows/end-instance.ts'

export const workflowMutants: readonly Mutant[] = [
  {
    name: 'advance-counts-twice',
    fault: 'a repeated request advances an instance again whose step is parked again',
    file: advanceInstance,
    at: 'advanceInstance / if 2 / .test',
    becomes: 'false',
    caughtBy: { [instances]: 'for a step that is parked again, but once per key' },
  },
  {
    name: 'advance-of-another-step',
    fault: 'the output of one step is taken for another one that is parked',
    file: advanceInstance,
    at: 'advanceInstance / && 1',
    becomes: '$left',
    caughtBy: { [instances]: 'takes only the same output again for a step that is not parked' },
  },
  {
    name: 'last-branch-taken',
    fault: 'an instance takes the last branch that fits',
    file: stepsAhead,
    at: 'branchOf / find()',
    becomes: '$callee.object.findLast($arguments.0)',
    caughtBy: { [instances]: 'passes a decision by its first branch that fits' },
  },
  {
    name: 'endless-instance',
    fault: 'an instance enters steps without a limit',
    file: stepsAhead,
    at: 'enterStep / if 2 / .test',
    becomes: 'false',
    caughtBy: { [instances]: 'fails an instance that enters its 1,001st step' },
  },
  {
    name: 'image-assessed-twice',
    fault: 'an image that two steps collected is in the assessment twice',
    file: stepsAhead,
    at: 'collectedImages / Set()',
    becomes: '$arguments.0',
    caughtBy: { [instances]: 'requests an image once that two steps collected' },
  },
  {
    name: 'missing-answer-differs',
    fault: 'a missing answer is different from every value',
    file: 'commands/workflows/conditions.ts',
    at: 'compares / if 1 / .test',
    becomes: 'false',
    caughtBy: { [conditions]: 'never for a comparison' },
  },
  {
    name: 'ended-instance-cancelled',
    fault: 'an instance is cancelled after its end',
    file: endInstance,
    at: 'cancelInstance / ?',
    becomes: '$consequent',
    caughtBy: { [instances]: 'cancels one that has not ended' },
  },
  {
    name: 'late-instance-stays-open',
    fault: 'an instance that starts after its case was closed stays open',
    file: 'processes/workflows/workflows.process.ts',
    at: 'WorkflowInstanceStarted / scheduleForEach()',
    becomes: "$callee.object.clear('nothing')",
    caughtBy: { [list]: 'also of one that starts later' },
  },
  {
    name: 'end-before-the-wait',
    fault: 'an instance waits for ever for an assessment that ended before',
    file: 'processes/workflows/workflows.steps.ts',
    at: 'follow / ? 1',
    becomes: '$alternate',
    caughtBy: { [crashPoints]: 'a second instance that awaits an assessment that has ended' },
  },
  {
    name: 'ends-share-an-id',
    fault: 'the ends of two instances with one assessment have the same event id',
    file: 'processes/workflows/workflows.steps.ts',
    at: 'follow / command() / .arguments.1',
    becomes: "''",
    caughtBy: { [crashPoints]: 'two instances that end with one assessment have events of their own' },
  },
  {
    name: 'end-has-the-id-of-the-assignment',
    fault: 'a repeated step ends the instance by the event id of the assignment before',
    file: 'processes/workflows/workflows.steps.ts',
    at: 'follow / ? 2',
    becomes: '$consequent',
    caughtBy: { [crashPoints]: 'ends the instance by an event of its own' },
  },
]
