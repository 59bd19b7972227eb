import type { ProcessDependencies } from '../dependencies.ts'
import { defineProcess } from '../runtime/process.ts'
import { aiReviewToDo } from './ai-review.process.ts'
import { claim, open, withdraw } from './claim.steps.ts'
import { poll } from './poll.steps.ts'
import { start } from './start.steps.ts'

export const aiReviewProcess = defineProcess<ProcessDependencies>({
  name: 'ai_review',
  list: aiReviewToDo,
  steps: { claim, open, start, poll, withdraw },
})
