import { describe, expect, it } from 'vitest'
import { failExport, finishExport, removeExport, requestExport } from '../../../commands/audit/export-decisions.ts'
import { auditExports } from '../../../streams/audit-export/aggregate.ts'
import { exportFact as fact, exportId } from '../../streams/audit-export-facts.ts'
import { at, ids } from '../../streams/facts.ts'
import { given } from '../../support/given-decider.ts'

const { requestedAt: _, ...request } = fact('AuditExportRequested').data
const command = { ...request, now: new Date(at(0)) }
const other = { ...command, exportId: ids.claim, fingerprint: null }
const requested = fact('AuditExportRequested')
const finished = fact('AuditExportFinished')
const failed = fact('AuditExportFailed')
const removed = fact('AuditExportRemoved')
const { objectKey: key, sha256, bytes } = finished.data
const finish = { exportId, stored: { key, sha256, bytes }, now: new Date(at(10)) }
const fail = { exportId, errorCode: 'SUBJECT_ERASED', now: new Date(at(10)) }
const remove = { exportId, now: new Date(at(86_411)) }

describe('a request of an export', () => {
  it('begins one, and a further one gets it while it runs', () => {
    given(auditExports).when(requestExport, command).thenEvents([requested])
    given(auditExports, requested).when(requestExport, other).thenNothing()
  })

  it('begins another one after the end of the one before', () => {
    const again = { ...requested, data: { ...requested.data, exportId: ids.claim, fingerprint: null } }
    for (const end of [[finished], [failed], [finished, removed]])
      expect(requestExport(other, given(auditExports, requested, ...end).state)).toEqual([again])
  })

  it('that is repeated gets the first one, and with another body is refused', () => {
    for (const end of [[finished], [failed], [finished, removed], [failed, removed]])
      given(auditExports, requested, ...end)
        .when(requestExport, command)
        .thenNothing()
    given(auditExports, requested)
      .when(requestExport, { ...command, fingerprint: null })
      .thenRefused('idempotency-key-reused')
  })
})

describe('a running export', () => {
  it('finishes or fails once', () => {
    given(auditExports, requested).when(finishExport, finish).thenEvents([finished])
    given(auditExports, requested).when(failExport, fail).thenEvents([failed])
    given(auditExports, requested, failed).when(finishExport, finish).thenNothing()
    given(auditExports, requested, finished).when(failExport, fail).thenNothing()
    given(auditExports).when(finishExport, finish).thenNothing()
  })

  it('is not removed before its end', () => {
    given(auditExports, requested).when(removeExport, remove).thenNothing()
    given(auditExports, requested, finished).when(removeExport, remove).thenEvents([removed])
    given(auditExports, requested, failed).when(removeExport, remove).thenEvents([removed])
    expect(given(auditExports, requested, finished, removed).state).toMatchObject({ exports: [] })
  })
})
