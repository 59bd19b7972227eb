import type { ProcessDependencies } from '../dependencies.ts'
import { defineProcess } from '../runtime/process.ts'
import { clinicalToDo } from './clinical.process.ts'
import { recordFindingsOfReview, supersedeDiagnosesOfReview } from './findings.steps.ts'

export const clinicalProcess = defineProcess<ProcessDependencies>({
  name: 'clinical',
  list: clinicalToDo,
  steps: { 'record-findings': recordFindingsOfReview, 'supersede-diagnoses': supersedeDiagnosesOfReview },
})
