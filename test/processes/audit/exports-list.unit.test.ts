import { expect, it } from 'vitest'
import { exportsProcess } from '../../../processes/audit/exports.process.ts'
import type { AuditExportEvent } from '../../../streams/audit-export/events.ts'
import { exportFact, exportId, ofExports } from '../../streams/audit-export-facts.ts'
import { at, ids } from '../../streams/facts.ts'
import { todosAfter } from '../../support/given-process.ts'
import { recorded } from '../../support/given-projector.ts'

const steps = (...events: readonly AuditExportEvent[]) =>
  todosAfter(exportsProcess, recorded(events.map((event) => ofExports(event)))).map(({ key, step, orgId, dueAt }) => ({
    key,
    step,
    orgId,
    due: dueAt.toISOString(),
  }))
const requested = exportFact('AuditExportRequested')
const row = (step: string, due: string) => ({ key: exportId, step, orgId: ids.org, due })

it('an export is written, and given up after six hours', () => {
  expect(steps(requested)).toEqual([row('give-up', at(21_600)), row('write', at(0))])
})

it('a finished one is removed after its time, a failed one at once', () => {
  expect(steps(requested, exportFact('AuditExportFinished'))).toEqual([row('remove', at(86_410))])
  expect(steps(requested, exportFact('AuditExportFailed'))).toEqual([row('remove', at(10))])
  expect(steps(requested, exportFact('AuditExportFinished'), exportFact('AuditExportRemoved'))).toEqual([])
})
